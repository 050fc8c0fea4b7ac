#include "core/ops/dropout.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "core/ops/copy.h"
#include "core/ops/dropout_cpu.h"
#include "core/ops/operands.h"

namespace densenet {
namespace {

Status Run(const Context& ctx, std::string_view name, const Operand& in,
           double rate, const RandomKey& key, const Operand& out,
           TensorView y) {
  RETURN_IF_ERROR(CheckOperands(ctx, name, DType::kFloat32, {in, out}));
  RETURN_IF_ERROR(CheckCpu(ctx, name));
  RETURN_IF_ERROR(CheckShape(name, out, in.view.shape()));
  RETURN_IF_ERROR(Annotate(CheckDropoutRate(rate), name));
  if (rate > 0.0) {
    DropoutCpu(ctx, in.view, DropoutMask::Of(rate), key, y);
    return OkStatus();
  }
  return in.view.raw() == y.raw() ? OkStatus() : Copy(ctx, in.view, y);
}

}  // namespace

Status CheckDropoutRate(double rate) {
  if (rate >= 0.0 && rate < 1.0) return OkStatus();
  return InvalidArgument(fmt::format(
      "dropout rate is {}, expected 0 <= rate < 1: the share of elements that "
      "become zero",
      rate));
}

DropoutMask DropoutMask::Of(double rate) {
  CHECK(CheckDropoutRate(rate).ok()) << rate;
  constexpr double kLargest = 4294967295.0;
  const double threshold = std::min(std::round(rate * 4294967296.0), kLargest);
  return {static_cast<uint32_t>(threshold),
          static_cast<float>(1.0 / (1.0 - rate))};
}

Status Dropout(const Context& ctx, ConstTensorView x, double rate,
               const RandomKey& key, TensorView y) {
  return Run(ctx, "Dropout", {"x", x}, rate, key, {"y", y}, y);
}

Status DropoutBackward(const Context& ctx, ConstTensorView dy, double rate,
                       const RandomKey& key, TensorView dx) {
  return Run(ctx, "DropoutBackward", {"dy", dy}, rate, key, {"dx", dx}, dx);
}

}  // namespace densenet
