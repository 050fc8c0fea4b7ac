// core/ops/affine_relu.h
//
// Batch norm folded into one multiply-add per element, and the ReLU after it:
// y = max(x * s + t, 0) with a scale and an offset per channel.
//
// Shapes    x, y equal, of any rank >= 1: row-strided views, channels
//           innermost; s, t (C): packed
// Types     float32
// Memory    scratch: 0 bytes; y may be x
// Stream    enqueues on ctx's stream; never synchronizes
// Errors    InvalidArgument  shapes, types, strides or devices do not fit
//           Unimplemented    a CUDA context in a build without CUDA
// Numerics  AffineReluOf of every element: one rounding (a fused multiply-add),
//           so equal bits on every backend and in every kernel that fuses it;
//           NaN passes through, so that a divergence shows
// Threads   safe for different Contexts

#ifndef DENSENET_CORE_OPS_AFFINE_RELU_H_
#define DENSENET_CORE_OPS_AFFINE_RELU_H_

#include <cmath>

#include "core/context.h"
#include "core/host_device.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

DENSENET_HOST_DEVICE inline float AffineReluOf(float x, float s, float t) {
  const float y = std::fma(x, s, t);
  return 0.0f > y ? 0.0f : y;
}

Status AffineRelu(const Context& ctx, ConstTensorView x, ConstTensorView s,
                  ConstTensorView t, TensorView y);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_AFFINE_RELU_H_
