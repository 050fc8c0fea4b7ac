// core/ops/avg_pool.h
//
// The mean of the elements under a window, per channel.
//
// Shapes    x, dx (N, H, W, C), y, dy (N, P, Q, C): row-strided views
// Types     float32
// Memory    scratch: 0 bytes; outputs are overwritten and overlap no input
// Stream    enqueues on ctx's stream; never synchronizes
// Errors    InvalidArgument  shapes, types or strides do not fit, the window
//                            does not fit the image, or padding is not smaller
//                            than the window
//           Unimplemented    a CUDA context in a build without its kernel
// Numerics  float32 sums of window_h * window_w terms
// Threads   safe for different Contexts; results are bitwise independent of the
//           number of threads

#ifndef DENSENET_CORE_OPS_AVG_POOL_H_
#define DENSENET_CORE_OPS_AVG_POOL_H_

#include "core/context.h"
#include "core/ops/window.h"
#include "core/shape.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

// What the sum under a window is divided by.
enum class AvgPoolDivisor {
  kExcludePadding,  // elements of the image under the window (TensorFlow)
  kIncludePadding,  // window_h * window_w
};

StatusOr<Shape> AvgPoolOutputShape(const Shape& x, const PoolParams& params);

Status AvgPool(const Context& ctx, ConstTensorView x, const PoolParams& params,
               AvgPoolDivisor divisor, TensorView y);

Status AvgPoolBackward(const Context& ctx, ConstTensorView dy,
                       const PoolParams& params, AvgPoolDivisor divisor,
                       TensorView dx);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_AVG_POOL_H_
