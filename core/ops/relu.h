// core/ops/relu.h
//
// y = max(x, 0), and its gradient: dx = dy where x > 0, else 0.
//
// Shapes    all equal, any rank: row-strided views
// Types     float32
// Memory    scratch: 0 bytes; y may be x, dx may be dy
// Stream    enqueues on ctx's stream; never synchronizes
// Errors    InvalidArgument  shapes, types or strides do not fit
//           Unimplemented    a CUDA context in a build without its kernel
// Numerics  exact; NaN passes through forward, so that a divergence shows
// Threads   safe for different Contexts

#ifndef DENSENET_CORE_OPS_RELU_H_
#define DENSENET_CORE_OPS_RELU_H_

#include "core/context.h"
#include "core/host_device.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

DENSENET_HOST_DEVICE inline float ReluOf(float x) {
  return 0.0f > x ? 0.0f : x;
}

Status Relu(const Context& ctx, ConstTensorView x, TensorView y);

// `activation` is x or y of the forward: they are positive together.
Status ReluBackward(const Context& ctx, ConstTensorView activation,
                    ConstTensorView dy, TensorView dx);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_RELU_H_
