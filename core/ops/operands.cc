#include "core/ops/operands.h"

#include <fmt/format.h>

#include "core/ops/checks.h"

namespace densenet {

Status CheckOperands(const Context& ctx, std::string_view op, DType dtype,
                     std::initializer_list<Operand> operands) {
  for (const Operand& operand : operands) {
    if (operand.view.dtype() != dtype) {
      return InvalidArgument(fmt::format("{}: {} is {}, must be {}", op,
                                         operand.name, operand.view.ToString(),
                                         Name(dtype)));
    }
    if (operand.view.device() != ctx.device()) {
      return InvalidArgument(fmt::format(
          "{}: {} is on {}, the context on {}", op, operand.name,
          operand.view.device().ToString(), ctx.device().ToString()));
    }
  }
  return OkStatus();
}

Status CheckRowOperands(const Context& ctx, std::string_view op,
                        std::initializer_list<Operand> operands) {
  RETURN_IF_ERROR(CheckOperands(ctx, op, DType::kFloat32, operands));
  for (const Operand& operand : operands) {
    const ConstTensorView& view = operand.view;
    if (view.rank() == 0 || !view.IsRowStrided()) {
      return InvalidArgument(fmt::format(
          "{}: {} {} with strides {} is not rows of adjacent elements", op,
          operand.name, view.shape().ToString(), view.strides().ToString()));
    }
  }
  return OkStatus();
}

Status CheckShape(std::string_view op, const Operand& operand,
                  const Shape& expected) {
  return CheckShape(op, operand.name, operand.view, expected);
}

Status CheckCpu(const Context& ctx, std::string_view op) {
  return ctx.device().is_cpu() ? OkStatus() : NoCudaKernel(op);
}

StatusOr<int> ResolveAxis(std::string_view op, int axis, int rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return InvalidArgument(fmt::format(
      "{}: axis {} of a tensor of {} axes, expected {} <= axis < {}", op, axis,
      rank, -rank, rank));
}

}  // namespace densenet
