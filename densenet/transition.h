// densenet/transition.h
//
// Between two blocks: batch norm, ReLU, 1x1 convolution to compression * C
// channels, 2x2 average pooling. The pooling happens before the convolution,
// which commutes with it (densenet/kernels/pool_conv1x1.h). It makes piece 0
// of the next block, and its statistics.

#ifndef DENSENET_DENSENET_TRANSITION_H_
#define DENSENET_DENSENET_TRANSITION_H_

#include <cstdint>
#include <string>

#include "densenet/block_features.h"
#include "densenet/feature_norm.h"
#include "densenet/kernels/pool_conv1x1.h"
#include "densenet/step_builder.h"

namespace densenet {

// Tasks refer to the object: it must stay where it is while they run.
class Transition {
 public:
  Transition(StepBuilder& builder, const BlockFeatures& from,
             const BlockFeatures& to, const std::string& name);

  void AddForward(StepBuilder& builder);
  void AddBackward(StepBuilder& builder);

 private:
  PoolConv1x1Shape ShapeOf(int64_t images) const {
    const Extent extent = from_.extent();
    return {images, extent.height, extent.width, norm_.channels(),
            to_.piece_channels(0)};
  }

  const BlockFeatures& from_;
  const BlockFeatures& to_;
  const std::string name_;
  FeatureNorm norm_;
  const ParameterRef w_;
  const uint32_t stream_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_TRANSITION_H_
