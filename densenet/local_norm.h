// densenet/local_norm.h
//
// The batch norm and ReLU of a tensor with one reader: a dense layer's
// bottleneck, the convolution of the ImageNet stem. (The features of a block
// have many readers: feature_norm.h.) What differs between memory strategies,
// whether the normalized copy stands in memory, is the caller's choice.
//
// Usage: in the forward pass AddFoldTask after x and its moments are there,
// then tasks with Rows; in the backward pass BeginBackward, a task that fills
// Sink, AddGradientTask, then tasks with k1 and k2.

#ifndef DENSENET_DENSENET_LOCAL_NORM_H_
#define DENSENET_DENSENET_LOCAL_NORM_H_

#include <cstdint>
#include <string>

#include "densenet/kernels/batch_norm_passes.h"
#include "densenet/kernels/batch_norm_sink.h"
#include "densenet/kernels/normalized_rows.h"
#include "densenet/step_builder.h"

namespace densenet {

// Tasks refer to the object: it must stay where it is while they run.
class LocalNorm {
 public:
  // x is (N, H, W, channels) packed, `pixels` = H * W.
  LocalNorm(StepBuilder& builder, const std::string& name, int64_t pixels,
            int64_t channels);
  LocalNorm(const LocalNorm&) = delete;
  LocalNorm& operator=(const LocalNorm&) = delete;

  int64_t channels() const { return channels_; }
  PassShape shape(const Step& step) const {
    return {step.images, pixels_, channels_, step.share.chunks};
  }

  // Scale and shift of the batch's statistics, from `moments` (MomentsBytes),
  // and the running averages; where statistics are frozen `moments` is not
  // looked at.
  void AddFoldTask(StepBuilder& builder, BufferId moments);
  // z = ReLU(BN(x)) into a buffer of its own, which is kept where the strategy
  // keeps normalized activations.
  BufferId AddNormalizeTask(StepBuilder& builder, bool forward, BufferId x);

  void BeginBackward(StepBuilder& builder);
  // d_gamma and d_beta from the sums that a sink gathered, k1 and k2.
  void AddGradientTask(StepBuilder& builder);

  // Buffers for the tasks that call what is below.
  BufferId coefficients() const { return coefficients_; }
  BufferId sums() const { return sums_; }
  BufferId k() const { return k_; }

  // x, normalized on the fly.
  NormalizedRows Rows(const Step& step, BufferId x) const {
    return {step.Data<float>(x), channels_, At(step, kScale), At(step, kShift)};
  }
  // Takes the gradient of z, masks it into `dy` and sums it.
  BatchNormSink Sink(const Step& step, BufferId x, BufferId dy) const;
  const float* mean(const Step& step) const { return At(step, kMean); }
  const float* scale(const Step& step) const { return At(step, kScale); }
  // The gradient of x is scale * dy - (k1 + k2 * (x - mean)).
  const float* k1(const Step& step) const { return step.Data<float>(k_); }
  const float* k2(const Step& step) const { return k1(step) + channels_; }

 private:
  // Float arrays of `channels` in coefficients_.
  enum Coefficient { kMean, kInvStd, kVariance, kScale, kShift, kCount };

  float* At(const Step& step, Coefficient which) const {
    return step.Data<float>(coefficients_) + which * channels_;
  }

  const StepBuilder& builder_;
  const std::string name_;
  const int64_t pixels_;
  const int64_t channels_;
  const NormRef norm_;
  const double epsilon_;
  const double momentum_;
  const bool frozen_;
  BufferId coefficients_;  // forward to backward
  BufferId sums_;
  BufferId k_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_LOCAL_NORM_H_
