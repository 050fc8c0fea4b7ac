// core/ops/bias_add_cpu.h
//
// The CPU backend of bias_add.h; inputs are validated.

#ifndef DENSENET_CORE_OPS_BIAS_ADD_CPU_H_
#define DENSENET_CORE_OPS_BIAS_ADD_CPU_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/tensor.h"

namespace densenet {

void BiasAddCpu(const Context& ctx, ConstTensorView x, ConstTensorView bias,
                TensorView y);
int64_t BiasAddBackwardWorkspaceBytesCpu(ConstTensorView dy);
void BiasAddBackwardCpu(const Context& ctx, ConstTensorView dy, TensorView db,
                        absl::Span<char> workspace);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_BIAS_ADD_CPU_H_
