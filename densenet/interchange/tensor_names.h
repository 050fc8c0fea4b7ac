// densenet/interchange/tensor_names.h
//
// What other programs call the tensors of a DenseNet, and how theirs lie.
// There are as many conventions as repositories; these are known:
//
//   torchvision   features.denseblock1.denselayer1.norm1.weight, classifier
//   andreasveit   block1.layer.0.bn1.weight, trans1.bn1, bn1, fc
//   bamos         dense1.0.bn1.weight, trans1.bn1, bn1, fc
//   kuangliu      dense1.0.bn1.weight, trans1.bn, bn, linear; its layers put
//                 their channels before those they read, not behind
//
// Filters are (K, C, R, S) there and (R, S, C, K) here, the classifier's
// weight (K, C) and (C, K).
//
// Threads  safe

#ifndef DENSENET_DENSENET_INTERCHANGE_TENSOR_NAMES_H_
#define DENSENET_DENSENET_INTERCHANGE_TENSOR_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/shape.h"
#include "densenet/model_config.h"

namespace densenet {

struct Naming {
  std::string_view name;
  // Of a layer, with {0} the block and {1} the layer, which counts from
  // `first_layer`.
  std::string_view layer;
  int64_t first_layer = 1;
  std::string_view norm;  // of "norm1": "norm" or "bn"
  std::string_view transition;
  std::string_view transition_norm;
  std::string_view transition_conv;
  std::string_view stem_conv;
  std::string_view stem_norm;
  std::string_view last_norm;
  std::string_view classifier;
  bool newest_channels_first = false;
};

// torchvision's first.
absl::Span<const Naming> Namings();

// What `naming` calls our tensor `name`, a parameter or a statistic.
std::string ForeignName(const Naming& naming, std::string_view name);

// A name in a file without what wrapped the network ("module.", "model."), and
// in one spelling: "denselayer1.norm.1.weight" is "denselayer1.norm1.weight",
// "features.norm_final" and any last norm "features.norm5".
std::string PlainName(std::string_view name);

// The shape there of our tensor.
std::vector<int64_t> ForeignShape(const Shape& ours);

// Our tensor `name` of `shape` out of the elements of theirs, and back.
// `channels` of the input where they are in another order (InputChannels).
void FromForeign(absl::Span<const float> theirs, const Shape& shape,
                 absl::Span<const int64_t> channels, absl::Span<float> ours);
void ToForeign(absl::Span<const float> ours, const Shape& shape,
               absl::Span<float> theirs);

// Which channel of theirs is ours, for each input channel of our tensor
// `name`; empty where the order is the same.
std::vector<int64_t> InputChannels(const Naming& naming,
                                   const ModelConfig& config,
                                   std::string_view name);

}  // namespace densenet

#endif  // DENSENET_DENSENET_INTERCHANGE_TENSOR_NAMES_H_
