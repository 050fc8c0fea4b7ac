#include "core/ops/reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "core/ops/elementwise_cpu.h"
#include "core/ops/operands.h"
#include "core/ops/reduce_cpu.h"

namespace densenet {
namespace {

// reduced[a] for every axis of x.
StatusOr<std::array<bool, kMaxRank>> Reduced(std::string_view op,
                                             const Shape& x,
                                             absl::Span<const int> axes) {
  std::array<bool, kMaxRank> reduced{};
  if (axes.empty()) reduced.fill(true);
  for (int given : axes) {
    ASSIGN_OR_RETURN(const int axis, ResolveAxis(op, given, x.rank()));
    if (reduced[axis]) {
      return InvalidArgument(
          fmt::format("{}: axis {} of x {} is given twice in ({})", op, axis,
                      x.ToString(), fmt::join(axes.begin(), axes.end(), ", ")));
    }
    reduced[axis] = true;
  }
  return reduced;
}

Status Reduce(const Context& ctx, std::string_view name, ReduceOp op,
              ConstTensorView x, absl::Span<const int> axes, TensorView y) {
  RETURN_IF_ERROR(
      CheckOperands(ctx, name, DType::kFloat32, {{"x", x}, {"y", y}}));
  RETURN_IF_ERROR(CheckCpu(ctx, name));
  ASSIGN_OR_RETURN(const auto reduced, Reduced(name, x.shape(), axes));
  ASSIGN_OR_RETURN(const Shape kept, ReducedShape(name, x.shape(), axes, true));
  if (y.shape() != kept) {
    ASSIGN_OR_RETURN(const Shape dropped,
                     ReducedShape(name, x.shape(), axes, false));
    RETURN_IF_ERROR(CheckShape(name, {"y", y}, dropped));
  }
  if (!y.IsPacked()) {
    return InvalidArgument(
        fmt::format("{}: y {} is not packed", name, y.shape().ToString()));
  }
  if (op == ReduceOp::kMean && x.elems() == 0 && y.elems() > 0) {
    return InvalidArgument(fmt::format("{}: x {} has no elements to average",
                                       name, x.shape().ToString()));
  }
  ReduceCpu(ctx, op, x, absl::MakeConstSpan(reduced.data(), x.rank()),
            y.data<float>());
  return OkStatus();
}

}  // namespace

StatusOr<Shape> ReducedShape(std::string_view op, const Shape& x,
                             absl::Span<const int> axes, bool keep_axes) {
  ASSIGN_OR_RETURN(const auto reduced, Reduced(op, x, axes));
  Shape y;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!reduced[axis]) {
      y.Append(x.dim(axis));
    } else if (keep_axes) {
      y.Append(1);
    }
  }
  return y;
}

Status ReduceSum(const Context& ctx, ConstTensorView x,
                 absl::Span<const int> axes, TensorView y) {
  return Reduce(ctx, "ReduceSum", ReduceOp::kSum, x, axes, y);
}

Status ReduceMean(const Context& ctx, ConstTensorView x,
                  absl::Span<const int> axes, TensorView y) {
  return Reduce(ctx, "ReduceMean", ReduceOp::kMean, x, axes, y);
}

Status L2Norm(const Context& ctx, ConstTensorView x, TensorView y) {
  RETURN_IF_ERROR(CheckShape("L2Norm", {"y", y}, {}));
  return Reduce(ctx, "L2Norm", ReduceOp::kNorm, x, {}, y);
}

Status L2NormBackward(const Context& ctx, ConstTensorView x, ConstTensorView y,
                      ConstTensorView dy, TensorView dx) {
  RETURN_IF_ERROR(CheckOperands(ctx, "L2NormBackward", DType::kFloat32,
                                {{"x", x}, {"y", y}, {"dy", dy}, {"dx", dx}}));
  RETURN_IF_ERROR(CheckCpu(ctx, "L2NormBackward"));
  RETURN_IF_ERROR(CheckShape("L2NormBackward", {"y", y}, {}));
  RETURN_IF_ERROR(CheckShape("L2NormBackward", {"dy", dy}, {}));
  RETURN_IF_ERROR(CheckShape("L2NormBackward", {"dx", dx}, x.shape()));
  const float norm = *y.data<float>();
  const float factor = norm > 0.0f ? *dy.data<float>() / norm : 0.0f;
  ScaleCpu(ctx, x, factor, dx);
  return OkStatus();
}

}  // namespace densenet
