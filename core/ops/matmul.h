// core/ops/matmul.h
//
// Matrix product y = op(a) * op(b), or y += op(a) * op(b), where op(m) is m or
// its transpose.
//
// Shapes    op(a) (M, K), op(b) (K, N), y (M, N): row-strided views of rank 2.
//           A transposed operand is stored as (K, M) or (N, K).
// Types     float32
// Memory    y overlaps no input; scratch is `workspace`, aligned to
//           kAlignmentBytes and at least MatMulWorkspaceBytes(...) bytes (which
//           reads shapes only: a view of a null pointer will do)
// Stream    enqueues on ctx's stream; never synchronizes
// Errors    InvalidArgument  ranks, types, strides or extents do not fit, or
//                            the workspace is too small
//           Unimplemented    a CUDA context in a build without CUDA, or
//                            no algorithm of cuBLASLt fits
// Numerics  float32 sums of K terms, in blocks of a fixed length
// Threads   safe for different Contexts; results are bitwise independent of the
//           number of threads

#ifndef DENSENET_CORE_OPS_MATMUL_H_
#define DENSENET_CORE_OPS_MATMUL_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

struct MatMulParams {
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  // add to y instead of overwriting it
};

StatusOr<int64_t> MatMulWorkspaceBytes(const Context& ctx, ConstTensorView a,
                                       ConstTensorView b,
                                       const MatMulParams& params,
                                       ConstTensorView y);
Status MatMul(const Context& ctx, ConstTensorView a, ConstTensorView b,
              const MatMulParams& params, TensorView y,
              absl::Span<char> workspace);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_MATMUL_H_
