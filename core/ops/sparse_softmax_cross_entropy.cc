#include "core/ops/sparse_softmax_cross_entropy.h"

#include <fmt/format.h>

#include "core/ops/operands.h"
#include "core/ops/sparse_softmax_cross_entropy_cpu.h"

namespace densenet {
namespace {

Status CheckInputs(const Context& ctx, std::string_view op,
                   ConstTensorView logits, ConstTensorView labels,
                   const CrossEntropyParams& params) {
  if (!(0 <= params.label_smoothing && params.label_smoothing < 1)) {
    return InvalidArgument(
        fmt::format("{}: label smoothing {}: expected 0 or more, less than 1",
                    op, params.label_smoothing));
  }
  RETURN_IF_ERROR(CheckRowOperands(ctx, op, {{"logits", logits}}));
  RETURN_IF_ERROR(CheckOperands(ctx, op, DType::kInt32, {{"labels", labels}}));
  RETURN_IF_ERROR(CheckCpu(ctx, op));
  if (logits.rank() != 2) {
    return InvalidArgument(fmt::format("{}: logits is {}, expected (N, C)", op,
                                       logits.shape().ToString()));
  }
  RETURN_IF_ERROR(CheckShape(op, {"labels", labels}, {logits.dim(0)}));
  const int32_t* label = labels.data<int32_t>();
  const int64_t classes = logits.dim(1);
  for (int64_t n = 0; n < labels.dim(0); ++n) {
    const int32_t value = label[n * labels.stride(0)];
    if (value < 0 || value >= classes) {
      return InvalidArgument(fmt::format(
          "{}: label {} of row {} is out of range: logits {} have classes 0 to "
          "{}",
          op, value, n, logits.shape().ToString(), classes - 1));
    }
  }
  return OkStatus();
}

}  // namespace

Status SparseSoftmaxCrossEntropy(const Context& ctx, ConstTensorView logits,
                                 ConstTensorView labels, TensorView losses,
                                 const CrossEntropyParams& params) {
  constexpr std::string_view kName = "SparseSoftmaxCrossEntropy";
  RETURN_IF_ERROR(CheckInputs(ctx, kName, logits, labels, params));
  RETURN_IF_ERROR(
      CheckOperands(ctx, kName, DType::kFloat32, {{"losses", losses}}));
  RETURN_IF_ERROR(CheckShape(kName, {"losses", losses}, labels.shape()));
  SparseSoftmaxCrossEntropyCpu(ctx, logits, labels, losses,
                               params.label_smoothing);
  return OkStatus();
}

Status SparseSoftmaxCrossEntropyBackward(const Context& ctx,
                                         ConstTensorView logits,
                                         ConstTensorView labels,
                                         ConstTensorView dlosses,
                                         TensorView dlogits,
                                         const CrossEntropyParams& params) {
  constexpr std::string_view kName = "SparseSoftmaxCrossEntropyBackward";
  RETURN_IF_ERROR(CheckInputs(ctx, kName, logits, labels, params));
  RETURN_IF_ERROR(
      CheckOperands(ctx, kName, DType::kFloat32, {{"dlosses", dlosses}}));
  RETURN_IF_ERROR(CheckRowOperands(ctx, kName, {{"dlogits", dlogits}}));
  RETURN_IF_ERROR(CheckShape(kName, {"dlosses", dlosses}, labels.shape()));
  RETURN_IF_ERROR(CheckShape(kName, {"dlogits", dlogits}, logits.shape()));
  SparseSoftmaxCrossEntropyBackwardCpu(ctx, logits, labels, dlosses, dlogits,
                                       params.label_smoothing);
  return OkStatus();
}

}  // namespace densenet
