#include "core/ops/matmul.h"

#include <fmt/format.h>

#include "core/ops/checks.h"
#include "core/ops/matmul_cpu.h"
#include "core/ops/matmul_cuda.h"

namespace densenet {
namespace {

constexpr char kOp[] = "MatMul";

std::string Describe(std::string_view name, ConstTensorView m,
                     bool transposed) {
  return fmt::format("{} has shape {}{}", name, m.shape().ToString(),
                     transposed ? " (transposed)" : "");
}

Status Check(const Context& ctx, ConstTensorView a, ConstTensorView b,
             const MatMulParams& params, ConstTensorView y) {
  RETURN_IF_ERROR(CheckFloatRows(kOp, "a", ctx, a, 2));
  RETURN_IF_ERROR(CheckFloatRows(kOp, "b", ctx, b, 2));
  RETURN_IF_ERROR(CheckFloatRows(kOp, "y", ctx, y, 2));
  const int64_t m = a.dim(params.transpose_a ? 1 : 0);
  const int64_t k = a.dim(params.transpose_a ? 0 : 1);
  const int64_t k_of_b = b.dim(params.transpose_b ? 1 : 0);
  const int64_t n = b.dim(params.transpose_b ? 0 : 1);
  if (k != k_of_b) {
    return InvalidArgument(
        fmt::format("{}: {}, {}: inner extents are {} and {}", kOp,
                    Describe("a", a, params.transpose_a),
                    Describe("b", b, params.transpose_b), k, k_of_b));
  }
  RETURN_IF_ERROR(CheckShape(kOp, "y", y, Shape{m, n}));
  return OkStatus();
}

int64_t WorkspaceBytes(const Context& ctx, ConstTensorView b,
                       const MatMulParams& params) {
  return ctx.device().is_cuda() ? MatMulWorkspaceBytesCuda()
                                : MatMulWorkspaceBytesCpu(b, params);
}

}  // namespace

StatusOr<int64_t> MatMulWorkspaceBytes(const Context& ctx, ConstTensorView a,
                                       ConstTensorView b,
                                       const MatMulParams& params,
                                       ConstTensorView y) {
  RETURN_IF_ERROR(Check(ctx, a, b, params, y));
  return WorkspaceBytes(ctx, b, params);
}

Status MatMul(const Context& ctx, ConstTensorView a, ConstTensorView b,
              const MatMulParams& params, TensorView y,
              absl::Span<char> workspace) {
  RETURN_IF_ERROR(Check(ctx, a, b, params, y));
  RETURN_IF_ERROR(
      CheckWorkspace(kOp, workspace, WorkspaceBytes(ctx, b, params)));
  if (ctx.device().is_cuda()) {
    return MatMulCuda(ctx, a, b, params, y, workspace);
  }
  MatMulCpu(ctx, a, b, params, y, workspace);
  return OkStatus();
}

}  // namespace densenet
