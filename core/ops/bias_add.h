// core/ops/bias_add.h
//
// Adds a vector to every row: y[..., c] = x[..., c] + bias[c]. Its gradients
// are dy itself and, for the bias, the sum of dy over all rows.
//
// Shapes    x, y, dy (..., C), rank 1 to 6: row-strided views; bias, db (C)
// Types     float32
// Memory    y may be x; scratch of the backward is `workspace`, aligned to
//           kAlignmentBytes and at least BiasAddBackwardWorkspaceBytes(...)
//           bytes
// Stream    enqueues on ctx's stream; never synchronizes
// Errors    InvalidArgument  shapes, types or strides do not fit, or the
//                            workspace is too small
//           Unimplemented    a CUDA context in a build without its kernel
// Numerics  forward: one rounding; backward: float32 sums within a chunk of
//           rows, float64 across chunks
// Threads   safe for different Contexts; results are bitwise independent of the
//           number of threads

#ifndef DENSENET_CORE_OPS_BIAS_ADD_H_
#define DENSENET_CORE_OPS_BIAS_ADD_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status BiasAdd(const Context& ctx, ConstTensorView x, ConstTensorView bias,
               TensorView y);

// db is overwritten.
StatusOr<int64_t> BiasAddBackwardWorkspaceBytes(const Context& ctx,
                                                ConstTensorView dy);
Status BiasAddBackward(const Context& ctx, ConstTensorView dy, TensorView db,
                       absl::Span<char> workspace);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_BIAS_ADD_H_
