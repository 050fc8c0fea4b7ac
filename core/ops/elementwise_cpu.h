// core/ops/elementwise_cpu.h
//
// The CPU code of core/ops/elementwise.h; elementwise.cc validates: a and b
// already have the shape of y.

#ifndef DENSENET_CORE_OPS_ELEMENTWISE_CPU_H_
#define DENSENET_CORE_OPS_ELEMENTWISE_CPU_H_

#include "core/context.h"
#include "core/tensor.h"

namespace densenet {

enum class BinaryOp { kAdd, kSubtract, kMultiply };
void BinaryCpu(const Context& ctx, BinaryOp op, ConstTensorView a,
               ConstTensorView b, TensorView y);
void ScaleCpu(const Context& ctx, ConstTensorView x, float factor,
              TensorView y);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_ELEMENTWISE_CPU_H_
