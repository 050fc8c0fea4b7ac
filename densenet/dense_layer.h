// densenet/dense_layer.h
//
// One layer of a dense block: batch norm, ReLU, 1x1 convolution to the
// bottleneck, batch norm, ReLU, 3x3 convolution; or, without bottleneck, batch
// norm, ReLU, 3x3 convolution. Its output is the next piece of the block.

#ifndef DENSENET_DENSENET_DENSE_LAYER_H_
#define DENSENET_DENSENET_DENSE_LAYER_H_

#include <memory>
#include <string>

#include "densenet/block_features.h"
#include "densenet/step_builder.h"

namespace densenet {

class DenseLayer {
 public:
  virtual ~DenseLayer() = default;
  virtual void AddForward(StepBuilder& builder) = 0;
  // After the backward tasks of every later reader of the block.
  virtual void AddBackward(StepBuilder& builder) = 0;
};

// Layer `layer` of the block (from 0): reads pieces 0..layer, makes piece
// layer + 1. `name` is the prefix of its parameters.
std::unique_ptr<DenseLayer> MakeBasicLayer(StepBuilder& builder,
                                           const BlockFeatures& features,
                                           int64_t layer,
                                           const std::string& name);
std::unique_ptr<DenseLayer> MakeBottleneckLayer(StepBuilder& builder,
                                                const BlockFeatures& features,
                                                int64_t layer,
                                                const std::string& name);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DENSE_LAYER_H_
