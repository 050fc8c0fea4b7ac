// core/ops/batch_norm_cpu.h
//
// The CPU backend of batch_norm.h; inputs are validated.

#ifndef DENSENET_CORE_OPS_BATCH_NORM_CPU_H_
#define DENSENET_CORE_OPS_BATCH_NORM_CPU_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/ops/batch_norm.h"
#include "core/tensor.h"

namespace densenet {

int64_t BatchNormWorkspaceBytesCpu(ConstTensorView x);

// running_mean and running_var may be null.
void BatchNormStatisticsCpu(const Context& ctx, ConstTensorView x,
                            const BatchNormParams& params, TensorView mean,
                            TensorView inv_std, TensorView running_mean,
                            TensorView running_var, absl::Span<char> workspace);

void BatchNormApplyCpu(const Context& ctx, ConstTensorView x,
                       ConstTensorView gamma, ConstTensorView beta,
                       ConstTensorView mean, ConstTensorView inv_std,
                       TensorView y);
void BatchNormEvalCpu(const Context& ctx, ConstTensorView x,
                      ConstTensorView gamma, ConstTensorView beta,
                      ConstTensorView running_mean, ConstTensorView running_var,
                      double epsilon, TensorView y);

void BatchNormTrainBackwardCpu(const Context& ctx, ConstTensorView x,
                               ConstTensorView dy, ConstTensorView gamma,
                               ConstTensorView mean, ConstTensorView inv_std,
                               TensorView dx, TensorView dgamma,
                               TensorView dbeta, absl::Span<char> workspace);
void BatchNormFrozenBackwardCpu(const Context& ctx, ConstTensorView x,
                                ConstTensorView dy, ConstTensorView gamma,
                                ConstTensorView running_mean,
                                ConstTensorView running_var, double epsilon,
                                TensorView dx, TensorView dgamma,
                                TensorView dbeta, absl::Span<char> workspace);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_BATCH_NORM_CPU_H_
