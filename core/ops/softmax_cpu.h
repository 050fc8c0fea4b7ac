// core/ops/softmax_cpu.h
//
// The CPU code of core/ops/softmax.h; softmax.cc validates.

#ifndef DENSENET_CORE_OPS_SOFTMAX_CPU_H_
#define DENSENET_CORE_OPS_SOFTMAX_CPU_H_

#include "core/context.h"
#include "core/tensor.h"

namespace densenet {

void SoftmaxCpu(const Context& ctx, ConstTensorView x, TensorView y);
void SoftmaxBackwardCpu(const Context& ctx, ConstTensorView y,
                        ConstTensorView dy, TensorView dx);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_SOFTMAX_CPU_H_
