#include "core/ops/global_avg_pool.h"

#include "core/ops/checks.h"
#include "core/ops/global_avg_pool_cpu.h"

namespace densenet {
namespace {

Status Check(std::string_view op, const Context& ctx, std::string_view x_name,
             ConstTensorView x, std::string_view y_name, ConstTensorView y) {
  RETURN_IF_ERROR(CheckFloatRows(op, x_name, ctx, x, 4));
  RETURN_IF_ERROR(CheckFloatRows(op, y_name, ctx, y, 2));
  RETURN_IF_ERROR(CheckShape(op, y_name, y, Shape{x.dim(0), x.dim(3)}));
  if (ctx.device().is_cuda()) return NoCudaKernel(op);
  return OkStatus();
}

}  // namespace

Status GlobalAvgPool(const Context& ctx, ConstTensorView x, TensorView y) {
  RETURN_IF_ERROR(Check("GlobalAvgPool", ctx, "x", x, "y", y));
  GlobalAvgPoolCpu(ctx, x, y);
  return OkStatus();
}

Status GlobalAvgPoolBackward(const Context& ctx, ConstTensorView dy,
                             TensorView dx) {
  RETURN_IF_ERROR(Check("GlobalAvgPoolBackward", ctx, "dx", dx, "dy", dy));
  GlobalAvgPoolBackwardCpu(ctx, dy, dx);
  return OkStatus();
}

}  // namespace densenet
