#include "core/ops/affine_relu.h"

#include "core/ops/affine_relu_cpu.h"
#include "core/ops/affine_relu_cuda.h"
#include "core/ops/checks.h"

namespace densenet {

Status AffineRelu(const Context& ctx, ConstTensorView x, ConstTensorView s,
                  ConstTensorView t, TensorView y) {
  constexpr std::string_view kOp = "AffineRelu";
  RETURN_IF_ERROR(CheckFloatRows(kOp, "x", ctx, x));
  if (x.rank() == 0) {
    return InvalidArgument("AffineRelu: x has rank 0: expected (..., C)");
  }
  RETURN_IF_ERROR(CheckFloatRows(kOp, "y", ctx, y));
  RETURN_IF_ERROR(CheckShape(kOp, "y", y, x.shape()));
  RETURN_IF_ERROR(CheckChannelVector(kOp, "s", ctx, s, x.dim(-1)));
  RETURN_IF_ERROR(CheckChannelVector(kOp, "t", ctx, t, x.dim(-1)));
  if (ctx.device().is_cuda()) return AffineReluCuda(ctx, x, s, t, y);
  AffineReluCpu(ctx, x, s, t, y);
  return OkStatus();
}

}  // namespace densenet
