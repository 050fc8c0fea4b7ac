// core/ops/relu_cpu.h
//
// The CPU backend of relu.h; inputs are validated.

#ifndef DENSENET_CORE_OPS_RELU_CPU_H_
#define DENSENET_CORE_OPS_RELU_CPU_H_

#include "core/context.h"
#include "core/tensor.h"

namespace densenet {

void ReluCpu(const Context& ctx, ConstTensorView x, TensorView y);
void ReluBackwardCpu(const Context& ctx, ConstTensorView activation,
                     ConstTensorView dy, TensorView dx);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_RELU_CPU_H_
