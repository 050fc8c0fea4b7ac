// core/ops/max_pool.h
//
// The largest element under a window, per channel. Padding never wins.
//
// Shapes    x, dx (N, H, W, C), y, dy (N, P, Q, C): row-strided views
// Types     float32
// Memory    scratch: 0 bytes; outputs are overwritten and overlap no input
// Stream    enqueues on ctx's stream; never synchronizes
// Errors    InvalidArgument  shapes, types or strides do not fit, the window
//                            does not fit the image, or padding is not smaller
//                            than the window
//           Unimplemented    a CUDA context in a build without its kernel
// Numerics  exact forward; the gradient goes to the first of equal elements in
//           row-major order; NaN wins, so that a divergence shows
// Threads   safe for different Contexts; results are bitwise independent of the
//           number of threads

#ifndef DENSENET_CORE_OPS_MAX_POOL_H_
#define DENSENET_CORE_OPS_MAX_POOL_H_

#include "core/context.h"
#include "core/ops/window.h"
#include "core/shape.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

StatusOr<Shape> MaxPoolOutputShape(const Shape& x, const PoolParams& params);

Status MaxPool(const Context& ctx, ConstTensorView x, const PoolParams& params,
               TensorView y);

// Finds the winners again from x: nothing but x is kept from the forward.
Status MaxPoolBackward(const Context& ctx, ConstTensorView x,
                       ConstTensorView dy, const PoolParams& params,
                       TensorView dx);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_MAX_POOL_H_
