#include "core/ops/copy.h"

#include <fmt/format.h>

#include "core/ops/copy_cpu.h"
#include "core/ops/elementwise.h"
#include "core/ops/operands.h"

namespace densenet {

Status Copy(const Context& ctx, ConstTensorView x, TensorView y) {
  RETURN_IF_ERROR(CheckOperands(ctx, "Copy", y.dtype(), {{"x", x}, {"y", y}}));
  RETURN_IF_ERROR(CheckCpu(ctx, "Copy"));
  ASSIGN_OR_RETURN(const Shape joint,
                   BroadcastShape("Copy", x.shape(), y.shape()));
  if (joint != y.shape()) {
    return InvalidArgument(fmt::format("Copy: x {} does not broadcast to y {}",
                                       x.shape().ToString(),
                                       y.shape().ToString()));
  }
  CopyCpu(ctx, BroadcastView(x, y.shape()), y);
  return OkStatus();
}

Status Fill(const Context& ctx, float value, TensorView y) {
  RETURN_IF_ERROR(CheckOperands(ctx, "Fill", DType::kFloat32, {{"y", y}}));
  RETURN_IF_ERROR(CheckCpu(ctx, "Fill"));
  CopyCpu(
      ctx,
      BroadcastView(ConstTensorView(&value, DType::kFloat32, {}), y.shape()),
      y);
  return OkStatus();
}

}  // namespace densenet
