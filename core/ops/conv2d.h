// core/ops/conv2d.h
//
// Two-dimensional convolution (cross-correlation, as everywhere in deep
// learning) and its two gradients.
//
//   y[n,p,q,k] = sum over r,s,c of x[n, p*stride.h + r - top,
//                                       q*stride.w + s - left, c] * w[r,s,c,k]
//
// Shapes    x, dx (N, H, W, C), y, dy (N, P, Q, K): row-strided views;
//           w, dw (R, S, C, K): packed
// Types     float32
// Memory    outputs are overwritten and overlap no input; scratch is
//           `workspace`, aligned to kAlignmentBytes and at least the bytes that
//           the ...WorkspaceBytes function answers for the same arguments and
//           Context. Those read shapes and strides, never data: a view of a
//           null pointer will do. Row-strided activations (row stride > C) cost
//           a packed copy of a few images per thread; packed ones none.
// Stream    enqueues on ctx's stream; never synchronizes
// Errors    InvalidArgument  ranks, types, extents or strides do not fit, the
//                            window does not fit the image, N < 1, or the
//                            workspace is too small
//           Unimplemented    a CUDA context in a build without CUDA, or
//                            cuDNN cannot do it (conv2d_cuda.h)
// Numerics  float32 sums of R*S*C (forward), R*S*K (data), N*P*Q (filter) terms
// Threads   safe for different Contexts; results are bitwise independent of the
//           number of threads

#ifndef DENSENET_CORE_OPS_CONV2D_H_
#define DENSENET_CORE_OPS_CONV2D_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/ops/window.h"
#include "core/shape.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

struct Conv2dParams {
  Stride stride;
  Padding padding;
};

// (N, P, Q, K) for x (N, H, W, C) and w (R, S, C, K).
StatusOr<Shape> Conv2dOutputShape(const Shape& x, const Shape& w,
                                  const Conv2dParams& params);

StatusOr<int64_t> Conv2dForwardWorkspaceBytes(const Context& ctx,
                                              ConstTensorView x,
                                              ConstTensorView w,
                                              const Conv2dParams& params,
                                              ConstTensorView y);
Status Conv2dForward(const Context& ctx, ConstTensorView x, ConstTensorView w,
                     const Conv2dParams& params, TensorView y,
                     absl::Span<char> workspace);

StatusOr<int64_t> Conv2dBackwardDataWorkspaceBytes(const Context& ctx,
                                                   ConstTensorView dy,
                                                   ConstTensorView w,
                                                   const Conv2dParams& params,
                                                   ConstTensorView dx);
Status Conv2dBackwardData(const Context& ctx, ConstTensorView dy,
                          ConstTensorView w, const Conv2dParams& params,
                          TensorView dx, absl::Span<char> workspace);

StatusOr<int64_t> Conv2dBackwardFilterWorkspaceBytes(const Context& ctx,
                                                     ConstTensorView x,
                                                     ConstTensorView dy,
                                                     const Conv2dParams& params,
                                                     ConstTensorView dw);
Status Conv2dBackwardFilter(const Context& ctx, ConstTensorView x,
                            ConstTensorView dy, const Conv2dParams& params,
                            TensorView dw, absl::Span<char> workspace);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_CONV2D_H_
