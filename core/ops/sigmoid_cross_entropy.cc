#include "core/ops/sigmoid_cross_entropy.h"

#include "core/ops/operands.h"
#include "core/ops/sigmoid_cross_entropy_cpu.h"

namespace densenet {

Status SigmoidCrossEntropy(const Context& ctx, ConstTensorView logits,
                           ConstTensorView targets, TensorView losses) {
  constexpr std::string_view kName = "SigmoidCrossEntropy";
  RETURN_IF_ERROR(CheckOperands(
      ctx, kName, DType::kFloat32,
      {{"logits", logits}, {"targets", targets}, {"losses", losses}}));
  RETURN_IF_ERROR(CheckCpu(ctx, kName));
  RETURN_IF_ERROR(CheckShape(kName, {"targets", targets}, logits.shape()));
  RETURN_IF_ERROR(CheckShape(kName, {"losses", losses}, logits.shape()));
  SigmoidCrossEntropyCpu(ctx, logits, targets, losses);
  return OkStatus();
}

Status SigmoidCrossEntropyBackward(const Context& ctx, ConstTensorView logits,
                                   ConstTensorView targets,
                                   ConstTensorView dlosses,
                                   TensorView dlogits) {
  constexpr std::string_view kName = "SigmoidCrossEntropyBackward";
  RETURN_IF_ERROR(CheckOperands(ctx, kName, DType::kFloat32,
                                {{"logits", logits},
                                 {"targets", targets},
                                 {"dlosses", dlosses},
                                 {"dlogits", dlogits}}));
  RETURN_IF_ERROR(CheckCpu(ctx, kName));
  RETURN_IF_ERROR(CheckShape(kName, {"targets", targets}, logits.shape()));
  RETURN_IF_ERROR(CheckShape(kName, {"dlosses", dlosses}, logits.shape()));
  RETURN_IF_ERROR(CheckShape(kName, {"dlogits", dlogits}, logits.shape()));
  SigmoidCrossEntropyBackwardCpu(ctx, logits, targets, dlosses, dlogits);
  return OkStatus();
}

}  // namespace densenet
