// core/ops/softmax.h
//
// Probabilities from logits, along the innermost axis:
// y[i] = exp(x[i] - max x) / sum exp(x - max x).
//
// Shapes    x, y, dy, dx (..., C), equal; row-strided views
// Types     float32
// Memory    scratch: 0 bytes; y may be x, dx may be dy
// Stream    CPU; Unimplemented elsewhere
// Errors    InvalidArgument  rank 0; shapes, types, strides or device
// Numerics  sums of C terms in float64; never overflows
// Threads   safe for different Contexts; bitwise equal for every thread count

#ifndef DENSENET_CORE_OPS_SOFTMAX_H_
#define DENSENET_CORE_OPS_SOFTMAX_H_

#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status Softmax(const Context& ctx, ConstTensorView x, TensorView y);

// dx = y * (dy - sum(dy * y)), with y of the forward pass.
Status SoftmaxBackward(const Context& ctx, ConstTensorView y,
                       ConstTensorView dy, TensorView dx);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_SOFTMAX_H_
