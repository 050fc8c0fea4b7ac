// core/ops/affine_relu_backends.h
//
// What affine_relu.cc dispatches to, after it has checked everything
// (docs/decisions/0001-backends.md). Internal to core/ops.

#ifndef DENSENET_CORE_OPS_AFFINE_RELU_BACKENDS_H_
#define DENSENET_CORE_OPS_AFFINE_RELU_BACKENDS_H_

#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet::cpu {
Status AffineRelu(const Context& ctx, ConstTensorView x, ConstTensorView s,
                  ConstTensorView t, TensorView y);
}  // namespace densenet::cpu

namespace densenet::cuda {
Status AffineRelu(const Context& ctx, ConstTensorView x, ConstTensorView s,
                  ConstTensorView t, TensorView y);
}  // namespace densenet::cuda

#endif  // DENSENET_CORE_OPS_AFFINE_RELU_BACKENDS_H_
