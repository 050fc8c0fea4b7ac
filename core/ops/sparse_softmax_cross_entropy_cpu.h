// core/ops/sparse_softmax_cross_entropy_cpu.h
//
// The CPU code of core/ops/sparse_softmax_cross_entropy.h;
// its arguments are validated.

#ifndef DENSENET_CORE_OPS_SPARSE_SOFTMAX_CROSS_ENTROPY_CPU_H_
#define DENSENET_CORE_OPS_SPARSE_SOFTMAX_CROSS_ENTROPY_CPU_H_

#include "core/context.h"
#include "core/tensor.h"

namespace densenet {

void SparseSoftmaxCrossEntropyCpu(const Context& ctx, ConstTensorView logits,
                                  ConstTensorView labels, TensorView losses,
                                  double label_smoothing);
void SparseSoftmaxCrossEntropyBackwardCpu(
    const Context& ctx, ConstTensorView logits, ConstTensorView labels,
    ConstTensorView dlosses, TensorView dlogits, double label_smoothing);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_SPARSE_SOFTMAX_CROSS_ENTROPY_CPU_H_
