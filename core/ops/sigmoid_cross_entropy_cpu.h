// core/ops/sigmoid_cross_entropy_cpu.h
//
// The CPU code of core/ops/sigmoid_cross_entropy.h;
// its arguments are validated.

#ifndef DENSENET_CORE_OPS_SIGMOID_CROSS_ENTROPY_CPU_H_
#define DENSENET_CORE_OPS_SIGMOID_CROSS_ENTROPY_CPU_H_

#include "core/context.h"
#include "core/tensor.h"

namespace densenet {

void SigmoidCrossEntropyCpu(const Context& ctx, ConstTensorView logits,
                            ConstTensorView targets, TensorView losses);
void SigmoidCrossEntropyBackwardCpu(const Context& ctx, ConstTensorView logits,
                                    ConstTensorView targets,
                                    ConstTensorView dlosses,
                                    TensorView dlogits);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_SIGMOID_CROSS_ENTROPY_CPU_H_
