// core/ops/elementwise_cuda.h
//
// The CUDA code of core/ops/elementwise.h; elementwise.cc validates: a and b
// already have the shape of y, with strides of 0 where they repeat.

#ifndef DENSENET_CORE_OPS_ELEMENTWISE_CUDA_H_
#define DENSENET_CORE_OPS_ELEMENTWISE_CUDA_H_

#include "core/context.h"
#include "core/ops/elementwise_cpu.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status BinaryCuda(const Context& ctx, BinaryOp op, ConstTensorView a,
                  ConstTensorView b, TensorView y);
Status ScaleCuda(const Context& ctx, ConstTensorView x, float factor,
                 TensorView y);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_ELEMENTWISE_CUDA_H_
