// core/ops/affine_relu_cpu.h
//
// The CPU code of core/ops/affine_relu.h; affine_relu.cc validates.

#ifndef DENSENET_CORE_OPS_AFFINE_RELU_CPU_H_
#define DENSENET_CORE_OPS_AFFINE_RELU_CPU_H_

#include "core/context.h"
#include "core/tensor.h"

namespace densenet {

void AffineReluCpu(const Context& ctx, ConstTensorView x, ConstTensorView s,
                   ConstTensorView t, TensorView y);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_AFFINE_RELU_CPU_H_
