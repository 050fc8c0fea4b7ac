// core/ops/global_avg_pool.h
//
// The mean over the image, per channel: x (N, H, W, C) -> y (N, C).
//
// Shapes    x, dx (N, H, W, C), y, dy (N, C): row-strided views
// Types     float32
// Memory    scratch: 0 bytes; outputs are overwritten and overlap no input
// Stream    enqueues on ctx's stream; never synchronizes
// Errors    InvalidArgument  shapes, types or strides do not fit
//           Unimplemented    a CUDA context in a build without its kernel
// Numerics  sums of H * W terms in float64, rounded once
// Threads   safe for different Contexts; results are bitwise independent of the
//           number of threads

#ifndef DENSENET_CORE_OPS_GLOBAL_AVG_POOL_H_
#define DENSENET_CORE_OPS_GLOBAL_AVG_POOL_H_

#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status GlobalAvgPool(const Context& ctx, ConstTensorView x, TensorView y);

Status GlobalAvgPoolBackward(const Context& ctx, ConstTensorView dy,
                             TensorView dx);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_GLOBAL_AVG_POOL_H_
