// The CUDA side of every operation that has one, for builds without CUDA. A
// Context on a card cannot be had there, so nothing gets this far; the names
// must link all the same.
#include "core/ops/affine_relu_cuda.h"
#include "core/ops/checks.h"

namespace densenet {

Status AffineReluCuda(const Context&, ConstTensorView, ConstTensorView,
                      ConstTensorView, TensorView) {
  return NoCudaKernel("AffineRelu");
}

}  // namespace densenet
