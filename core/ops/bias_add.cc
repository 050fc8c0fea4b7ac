#include "core/ops/bias_add.h"

#include <fmt/format.h>

#include "core/ops/bias_add_cpu.h"
#include "core/ops/checks.h"

namespace densenet {
namespace {

constexpr char kBackward[] = "BiasAddBackward";

Status CheckRankAtLeastOne(std::string_view op, std::string_view name,
                           ConstTensorView view) {
  if (view.rank() >= 1) return OkStatus();
  return InvalidArgument(
      fmt::format("{}: {} is a scalar, must have rank 1 or more", op, name));
}

}  // namespace

Status BiasAdd(const Context& ctx, ConstTensorView x, ConstTensorView bias,
               TensorView y) {
  constexpr char kOp[] = "BiasAdd";
  RETURN_IF_ERROR(CheckRankAtLeastOne(kOp, "x", x));
  RETURN_IF_ERROR(CheckFloatRows(kOp, "x", ctx, x));
  RETURN_IF_ERROR(CheckChannelVector(kOp, "bias", ctx, bias, x.dim(-1)));
  RETURN_IF_ERROR(CheckFloatRows(kOp, "y", ctx, y));
  RETURN_IF_ERROR(CheckShape(kOp, "y", y, x.shape()));
  if (ctx.device().is_cuda()) return NoCudaKernel(kOp);
  BiasAddCpu(ctx, x, bias, y);
  return OkStatus();
}

StatusOr<int64_t> BiasAddBackwardWorkspaceBytes(const Context& ctx,
                                                ConstTensorView dy) {
  RETURN_IF_ERROR(CheckRankAtLeastOne(kBackward, "dy", dy));
  RETURN_IF_ERROR(CheckFloatRows(kBackward, "dy", ctx, dy));
  if (ctx.device().is_cuda()) return NoCudaKernel(kBackward);
  return BiasAddBackwardWorkspaceBytesCpu(dy);
}

Status BiasAddBackward(const Context& ctx, ConstTensorView dy, TensorView db,
                       absl::Span<char> workspace) {
  ASSIGN_OR_RETURN(const int64_t needed,
                   BiasAddBackwardWorkspaceBytes(ctx, dy));
  RETURN_IF_ERROR(CheckChannelVector(kBackward, "db", ctx, db, dy.dim(-1)));
  RETURN_IF_ERROR(CheckWorkspace(kBackward, workspace, needed));
  BiasAddBackwardCpu(ctx, dy, db, workspace);
  return OkStatus();
}

}  // namespace densenet
