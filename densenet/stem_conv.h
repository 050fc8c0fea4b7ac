// densenet/stem_conv.h
//
// The first convolution of either stem: reads the batch's images, through the
// generic operation of core/ops; in the backward pass only its filter has a
// gradient.

#ifndef DENSENET_DENSENET_STEM_CONV_H_
#define DENSENET_DENSENET_STEM_CONV_H_

#include <cstdint>
#include <string>

#include "core/ops/conv2d.h"
#include "core/status.h"
#include "densenet/step_builder.h"

namespace densenet {

// Tasks refer to the object: it must stay where it is while they run.
class StemConv {
 public:
  StemConv(StepBuilder& builder, int64_t side, const Conv2dParams& params,
           Extent out);
  StemConv(const StemConv&) = delete;
  StemConv& operator=(const StemConv&) = delete;

  // y: (N, P, Q, stem_channels) rows.
  Status AddForward(StepBuilder& builder, RowsRef y);
  Status AddBackward(StepBuilder& builder, RowsRef dy);

 private:
  TensorView Images(const float* data, int64_t images) const;
  TensorView Filter(const float* data) const;
  TensorView Output(float* data, int64_t images, int64_t ld) const {
    return ImagesView(data, images, out_, channels_, ld);
  }

  const Extent in_;
  const Extent out_;
  const int64_t image_channels_;
  const int64_t channels_;
  const int64_t side_;
  const Conv2dParams params_;
  const ParameterRef w_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_STEM_CONV_H_
