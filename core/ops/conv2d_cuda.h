// core/ops/conv2d_cuda.h
//
// The CUDA backend of conv2d.h, by cuDNN; inputs are validated.
//
// cuDNN is given packed images with equal borders and the filter as
// (K, R, S, C); what is laid out otherwise is staged in the workspace. Of its
// algorithms the first of its own ranking is taken that computes in float32
// (no TF32), needs no more than kMaxLibraryBytes, and is deterministic unless
// the Context permits others.
//
// Errors  Unimplemented  2^31 elements or more in x or y: cuDNN counts in 32
//                        bits; or no such algorithm

#ifndef DENSENET_CORE_OPS_CONV2D_CUDA_H_
#define DENSENET_CORE_OPS_CONV2D_CUDA_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/ops/conv2d_cpu.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

StatusOr<int64_t> Conv2dForwardWorkspaceBytesCuda(const Context& ctx,
                                                  const Conv2dProblem& problem,
                                                  ConstTensorView x,
                                                  ConstTensorView y);
Status Conv2dForwardCuda(const Context& ctx, const Conv2dProblem& problem,
                         ConstTensorView x, ConstTensorView w, TensorView y,
                         absl::Span<char> workspace);

StatusOr<int64_t> Conv2dBackwardDataWorkspaceBytesCuda(
    const Context& ctx, const Conv2dProblem& problem, ConstTensorView dy,
    ConstTensorView dx);
Status Conv2dBackwardDataCuda(const Context& ctx, const Conv2dProblem& problem,
                              ConstTensorView dy, ConstTensorView w,
                              TensorView dx, absl::Span<char> workspace);

StatusOr<int64_t> Conv2dBackwardFilterWorkspaceBytesCuda(
    const Context& ctx, const Conv2dProblem& problem, ConstTensorView x,
    ConstTensorView dy);
Status Conv2dBackwardFilterCuda(const Context& ctx,
                                const Conv2dProblem& problem, ConstTensorView x,
                                ConstTensorView dy, TensorView dw,
                                absl::Span<char> workspace);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_CONV2D_CUDA_H_
