// core/ops/affine_relu_cuda.h
//
// The CUDA code of core/ops/affine_relu.h; affine_relu.cc validates.

#ifndef DENSENET_CORE_OPS_AFFINE_RELU_CUDA_H_
#define DENSENET_CORE_OPS_AFFINE_RELU_CUDA_H_

#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status AffineReluCuda(const Context& ctx, ConstTensorView x, ConstTensorView s,
                      ConstTensorView t, TensorView y);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_AFFINE_RELU_CUDA_H_
