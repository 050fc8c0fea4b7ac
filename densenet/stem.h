// densenet/stem.h
//
// What stands before the first dense block: a 3x3 convolution for CIFAR-sized
// images, or the ImageNet stem, a 7x7/2 convolution, batch norm, ReLU and 3x3/2
// max pooling. It makes piece 0 of the first block, and its statistics.

#ifndef DENSENET_DENSENET_STEM_H_
#define DENSENET_DENSENET_STEM_H_

#include <memory>

#include "core/status.h"
#include "densenet/block_features.h"
#include "densenet/step_builder.h"

namespace densenet {

class StemModule {
 public:
  virtual ~StemModule() = default;
  // Errors  InvalidArgument  the filter does not fit the images
  virtual Status AddForward(StepBuilder& builder) = 0;
  virtual Status AddBackward(StepBuilder& builder) = 0;
};

std::unique_ptr<StemModule> MakeCifarStem(StepBuilder& builder,
                                          const BlockFeatures& features);
std::unique_ptr<StemModule> MakeImageNetStem(StepBuilder& builder,
                                             const BlockFeatures& features);

}  // namespace densenet

#endif  // DENSENET_DENSENET_STEM_H_
