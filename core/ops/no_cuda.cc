// The CUDA side of every operation that has one, for builds without CUDA. A
// Context on a card cannot be had there, so nothing gets this far; the names
// must link all the same.
#include "core/ops/affine_relu_cuda.h"
#include "core/ops/checks.h"
#include "core/ops/conv2d_cuda.h"
#include "core/ops/elementwise_cuda.h"
#include "core/ops/matmul_cuda.h"

namespace densenet {

Status AffineReluCuda(const Context&, ConstTensorView, ConstTensorView,
                      ConstTensorView, TensorView) {
  return NoCudaKernel("AffineRelu");
}

Status BinaryCuda(const Context&, BinaryOp, ConstTensorView, ConstTensorView,
                  TensorView) {
  return NoCudaKernel("Add, Subtract, Multiply");
}

Status ScaleCuda(const Context&, ConstTensorView, float, TensorView) {
  return NoCudaKernel("Scale, Negate");
}

int64_t MatMulWorkspaceBytesCuda() { return 0; }

Status MatMulCuda(const Context&, ConstTensorView, ConstTensorView,
                  const MatMulParams&, TensorView, absl::Span<char>) {
  return NoCudaKernel("MatMul");
}

StatusOr<int64_t> Conv2dForwardWorkspaceBytesCuda(const Context&,
                                                  const Conv2dProblem&,
                                                  ConstTensorView,
                                                  ConstTensorView) {
  return NoCudaKernel("Conv2dForward");
}

Status Conv2dForwardCuda(const Context&, const Conv2dProblem&, ConstTensorView,
                         ConstTensorView, TensorView, absl::Span<char>) {
  return NoCudaKernel("Conv2dForward");
}

StatusOr<int64_t> Conv2dBackwardDataWorkspaceBytesCuda(const Context&,
                                                       const Conv2dProblem&,
                                                       ConstTensorView,
                                                       ConstTensorView) {
  return NoCudaKernel("Conv2dBackwardData");
}

Status Conv2dBackwardDataCuda(const Context&, const Conv2dProblem&,
                              ConstTensorView, ConstTensorView, TensorView,
                              absl::Span<char>) {
  return NoCudaKernel("Conv2dBackwardData");
}

StatusOr<int64_t> Conv2dBackwardFilterWorkspaceBytesCuda(const Context&,
                                                         const Conv2dProblem&,
                                                         ConstTensorView,
                                                         ConstTensorView) {
  return NoCudaKernel("Conv2dBackwardFilter");
}

Status Conv2dBackwardFilterCuda(const Context&, const Conv2dProblem&,
                                ConstTensorView, ConstTensorView, TensorView,
                                absl::Span<char>) {
  return NoCudaKernel("Conv2dBackwardFilter");
}

}  // namespace densenet
