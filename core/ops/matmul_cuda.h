// core/ops/matmul_cuda.h
//
// The CUDA backend of matmul.h; inputs are validated.

#ifndef DENSENET_CORE_OPS_MATMUL_CUDA_H_
#define DENSENET_CORE_OPS_MATMUL_CUDA_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/ops/matmul.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

int64_t MatMulWorkspaceBytesCuda();
Status MatMulCuda(const Context& ctx, ConstTensorView a, ConstTensorView b,
                  const MatMulParams& params, TensorView y,
                  absl::Span<char> workspace);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_MATMUL_CUDA_H_
