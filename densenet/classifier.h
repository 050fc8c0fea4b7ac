// densenet/classifier.h
//
// Behind the last block: batch norm, ReLU, global average pooling, a linear
// layer, softmax cross-entropy. Its backward pass starts that of the network
// with the gradient of the batch's mean loss.

#ifndef DENSENET_DENSENET_CLASSIFIER_H_
#define DENSENET_DENSENET_CLASSIFIER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "core/ops/sparse_softmax_cross_entropy.h"
#include "core/tensor.h"
#include "densenet/block_features.h"
#include "densenet/feature_norm.h"
#include "densenet/step_builder.h"

namespace densenet {

// Tasks refer to the object: it must stay where it is while they run.
class Classifier {
 public:
  Classifier(StepBuilder& builder, const BlockFeatures& features,
             const std::string& norm_name);

  Status AddForward(StepBuilder& builder);
  Status AddBackward(StepBuilder& builder);

  // Of the last run: sums over the batch, and where its logits are.
  const BatchResult& result() const { return result_; }
  ConstTensorView logits() const { return last_logits_; }

 private:
  // (images, columns) of a packed buffer.
  TensorView Rows(const Step& step, BufferId id, int64_t columns) const;
  TensorView Weight(const float* data) const;
  TensorView Bias(const float* data) const;
  void AddPoolTask(StepBuilder& builder);
  // How often an example counts in the loss.
  float ExampleWeight(int32_t label) const {
    return class_weights_.empty() ? 1.0f
                                  : class_weights_[static_cast<size_t>(label)];
  }
  Status AddLinearTask(StepBuilder& builder);
  void AddLossTask(StepBuilder& builder);
  // Without `d_pooled` only the gradients of weight and bias.
  Status AddLinearBackwardTask(StepBuilder& builder, BufferId d_logits,
                               std::optional<BufferId> d_pooled);
  void AddPoolBackwardTask(StepBuilder& builder, BufferId d_pooled);

  const BlockFeatures& features_;
  const int64_t classes_;
  const CrossEntropyParams loss_params_;
  const absl::Span<const float> class_weights_;  // empty: all 1
  FeatureNorm norm_;
  const ParameterRef w_;
  const ParameterRef b_;
  BufferId pooled_;
  BufferId logits_;
  BatchResult result_;
  ConstTensorView last_logits_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_CLASSIFIER_H_
