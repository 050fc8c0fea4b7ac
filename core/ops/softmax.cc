#include "core/ops/softmax.h"

#include "core/ops/operands.h"
#include "core/ops/softmax_cpu.h"

namespace densenet {

Status Softmax(const Context& ctx, ConstTensorView x, TensorView y) {
  RETURN_IF_ERROR(CheckRowOperands(ctx, "Softmax", {{"x", x}, {"y", y}}));
  RETURN_IF_ERROR(CheckCpu(ctx, "Softmax"));
  RETURN_IF_ERROR(CheckShape("Softmax", {"y", y}, x.shape()));
  SoftmaxCpu(ctx, x, y);
  return OkStatus();
}

Status SoftmaxBackward(const Context& ctx, ConstTensorView y,
                       ConstTensorView dy, TensorView dx) {
  constexpr std::string_view kName = "SoftmaxBackward";
  RETURN_IF_ERROR(
      CheckRowOperands(ctx, kName, {{"y", y}, {"dy", dy}, {"dx", dx}}));
  RETURN_IF_ERROR(CheckCpu(ctx, kName));
  RETURN_IF_ERROR(CheckShape(kName, {"dy", dy}, y.shape()));
  RETURN_IF_ERROR(CheckShape(kName, {"dx", dx}, y.shape()));
  SoftmaxBackwardCpu(ctx, y, dy, dx);
  return OkStatus();
}

}  // namespace densenet
