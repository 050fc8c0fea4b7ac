// core/ops/conv2d_cpu.h
//
// The CPU backend of conv2d.h; inputs are validated.

#ifndef DENSENET_CORE_OPS_CONV2D_CPU_H_
#define DENSENET_CORE_OPS_CONV2D_CPU_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

// One convolution, whichever gradient is asked for.
struct Conv2dProblem {
  int64_t n, h, w, c;  // x
  int64_t r, s;        // filter
  int64_t p, q, k;     // y
  int64_t stride_h, stride_w;
  int64_t top, bottom, left, right;
};

StatusOr<int64_t> Conv2dForwardWorkspaceBytesCpu(const Context& ctx,
                                                 const Conv2dProblem& problem,
                                                 ConstTensorView x,
                                                 ConstTensorView y);
Status Conv2dForwardCpu(const Context& ctx, const Conv2dProblem& problem,
                        ConstTensorView x, ConstTensorView w, TensorView y,
                        absl::Span<char> workspace);

StatusOr<int64_t> Conv2dBackwardDataWorkspaceBytesCpu(
    const Context& ctx, const Conv2dProblem& problem, ConstTensorView dy,
    ConstTensorView dx);
Status Conv2dBackwardDataCpu(const Context& ctx, const Conv2dProblem& problem,
                             ConstTensorView dy, ConstTensorView w,
                             TensorView dx, absl::Span<char> workspace);

StatusOr<int64_t> Conv2dBackwardFilterWorkspaceBytesCpu(
    const Context& ctx, const Conv2dProblem& problem, ConstTensorView x,
    ConstTensorView dy);
Status Conv2dBackwardFilterCpu(const Context& ctx, const Conv2dProblem& problem,
                               ConstTensorView x, ConstTensorView dy,
                               TensorView dw, absl::Span<char> workspace);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_CONV2D_CPU_H_
