#include "core/ops/relu.h"

#include "core/ops/checks.h"
#include "core/ops/relu_cpu.h"

namespace densenet {

Status Relu(const Context& ctx, ConstTensorView x, TensorView y) {
  constexpr char kOp[] = "Relu";
  RETURN_IF_ERROR(CheckFloatRows(kOp, "x", ctx, x));
  RETURN_IF_ERROR(CheckFloatRows(kOp, "y", ctx, y));
  RETURN_IF_ERROR(CheckShape(kOp, "y", y, x.shape()));
  if (ctx.device().is_cuda()) return NoCudaKernel(kOp);
  ReluCpu(ctx, x, y);
  return OkStatus();
}

Status ReluBackward(const Context& ctx, ConstTensorView activation,
                    ConstTensorView dy, TensorView dx) {
  constexpr char kOp[] = "ReluBackward";
  RETURN_IF_ERROR(CheckFloatRows(kOp, "activation", ctx, activation));
  RETURN_IF_ERROR(CheckFloatRows(kOp, "dy", ctx, dy));
  RETURN_IF_ERROR(CheckFloatRows(kOp, "dx", ctx, dx));
  RETURN_IF_ERROR(CheckShape(kOp, "dy", dy, activation.shape()));
  RETURN_IF_ERROR(CheckShape(kOp, "dx", dx, activation.shape()));
  if (ctx.device().is_cuda()) return NoCudaKernel(kOp);
  ReluBackwardCpu(ctx, activation, dy, dx);
  return OkStatus();
}

}  // namespace densenet
