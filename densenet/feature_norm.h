// densenet/feature_norm.h
//
// The batch norm and ReLU of one reader of a block's features: a dense layer
// reads the pieces before it, a transition or the head reads all. Here the
// memory strategies differ; the convolution that follows gets its input as
// NormalizedRows, and leaves the gradient in a BatchNormSink, under each.
//
//   strategy       concatenation  z = ReLU(BN(x))        gradient of x
//   naive          copied, kept   stored, kept           C-wide, then split
//   shared-concat  a view         stored, kept           C-wide dy, then added
//   recompute-bn   a view         scratch, twice         C-wide dy, then added
//   fused,         a view         in the packing, twice  scale * dy added by
//   features-only                                        the kernel, the rest
//                                                        by the producer
//
// Usage: AddForward, then the convolution's forward task with ForwardBuffers;
// in the backward pass BeginBackward, the convolution's backward task with
// BackwardBuffers, EndBackward.

#ifndef DENSENET_DENSENET_FEATURE_NORM_H_
#define DENSENET_DENSENET_FEATURE_NORM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "densenet/block_features.h"
#include "densenet/kernels/batch_norm_sink.h"
#include "densenet/kernels/normalized_rows.h"
#include "densenet/step_builder.h"

namespace densenet {

// Tasks refer to the object: it must stay where it is while they run.
class FeatureNorm {
 public:
  // Reads the first `pieces` pieces. `last_reader` is the one whose backward
  // comes first: it overwrites the gradient that the others add to.
  FeatureNorm(StepBuilder& builder, const BlockFeatures& features,
              int64_t pieces, const std::string& name, bool last_reader);
  FeatureNorm(const FeatureNorm&) = delete;
  FeatureNorm& operator=(const FeatureNorm&) = delete;

  int64_t channels() const { return channels_; }

  void AddForward(StepBuilder& builder);
  std::vector<BufferId> ForwardBuffers() const;
  NormalizedRows ForwardRows(const Step& step) const;

  void BeginBackward(StepBuilder& builder);
  std::vector<BufferId> BackwardBuffers() const;
  NormalizedRows BackwardRows(const Step& step) const;
  BatchNormSink Sink(const Step& step) const;
  void EndBackward(StepBuilder& builder);

 private:
  // Folded coefficients, alive from their task to the reader's.
  struct Folded {
    BufferId scale;
    BufferId shift;
  };

  // The statistics that normalize: the batch's, or the frozen ones.
  const float* Mean(const Step& step) const {
    return frozen_ ? norm_.running_mean() : step.Data<float>(features_.mean());
  }
  // `buffers` and what the statistics need besides.
  std::vector<BufferId> WithStatistics(std::vector<BufferId> buffers) const;
  Folded AddFoldTask(StepBuilder& builder, bool forward);
  void AddConcatenateTask(StepBuilder& builder);
  void AddNormalizeTask(StepBuilder& builder, const char* phase,
                        const Folded& folded, BufferId z);
  void AddGradientSumsTask(StepBuilder& builder);
  void AddInputGradientTask(StepBuilder& builder);
  void AddSplitTask(StepBuilder& builder);
  NormalizedRows Rows(const Step& step, const Folded& folded, BufferId z) const;
  std::vector<BufferId> RowBuffers(const Folded& folded, BufferId z) const;

  const StepBuilder& builder_;
  const BlockFeatures& features_;
  const int64_t pieces_;
  const int64_t channels_;
  const std::string name_;
  const bool last_reader_;
  const StrategyTraits traits_;
  const bool frozen_;
  NormRef norm_;
  RowsRef x_;  // (N, H, W, C): the concatenation, or the view of the buffer
  Folded forward_;
  Folded backward_;
  BufferId forward_z_;  // where normalized activations are materialized
  BufferId backward_z_;
  BufferId dy_;  // C-wide masked gradient, unless deferred
  BufferId partials_;
  BufferId frozen_inv_std_;
  BufferId coefficients_;     // k1, k2
  BufferId concat_gradient_;  // naive
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_FEATURE_NORM_H_
