// tests/densenet/reference_densenet.h
//
// A DenseNet in float64, written as the paper describes it and sharing no code
// with the network under test: plain concatenation, two-pass batch norm, the
// transition's convolution before its pooling, reverse-mode differentiation
// over a list of closures.

#ifndef DENSENET_TESTS_DENSENET_REFERENCE_DENSENET_H_
#define DENSENET_TESTS_DENSENET_REFERENCE_DENSENET_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "densenet/model_config.h"

namespace densenet::testing {

struct ReferenceInput {
  ModelConfig config;
  std::map<std::string, std::vector<double>> parameters;
  int64_t images = 0;
  std::vector<double> pixels;  // (images, H, W, C)
  std::vector<int32_t> labels;
  double label_smoothing = 0;
  std::vector<double> class_weights;  // empty: 1 each
  uint64_t seed = 0;  // of the dropout masks, as in the network under test
  uint32_t step = 0;
  // Running statistics by name, normalizing in place of the batch's; constants
  // to the gradient.
  const std::map<std::string, std::vector<double>>* frozen = nullptr;
  // By name of the norm before the ReLU, one byte an element: replayed where
  // given. A float32 network and this one disagree about activations near 0.
  const std::map<std::string, std::vector<uint8_t>>* masks = nullptr;
};

struct ReferenceOutput {
  double loss = 0;  // mean of the batch
  std::map<std::string, std::vector<double>> gradients;
  int64_t flips = 0;  // activations whose replayed mask is not ours
  int64_t activations = 0;
};

ReferenceOutput ReferenceStep(const ReferenceInput& input);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_DENSENET_REFERENCE_DENSENET_H_
