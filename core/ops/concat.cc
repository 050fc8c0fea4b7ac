#include "core/ops/concat.h"

#include <fmt/format.h>

#include <vector>

#include "core/ops/copy.h"
#include "core/ops/operands.h"

namespace densenet {

StatusOr<Shape> ConcatShape(absl::Span<const Shape> xs, int axis) {
  if (xs.empty()) return InvalidArgument("Concat: xs is empty");
  ASSIGN_OR_RETURN(axis, ResolveAxis("Concat", axis, xs[0].rank()));
  Shape joint = xs[0];
  for (size_t i = 1; i < xs.size(); ++i) {
    Shape expected = xs[0];
    if (xs[i].rank() == expected.rank()) {
      expected.set_dim(axis, xs[i].dim(axis));
    }
    if (xs[i] != expected) {
      return InvalidArgument(fmt::format(
          "Concat: xs[{}] is {}, xs[0] {}: expected the same extents on all "
          "axes but {}",
          i, xs[i].ToString(), xs[0].ToString(), axis));
    }
    joint.set_dim(axis, joint.dim(axis) + xs[i].dim(axis));
  }
  return joint;
}

Status Concat(const Context& ctx, absl::Span<const ConstTensorView> xs,
              int axis, TensorView y) {
  std::vector<Shape> shapes;
  for (const ConstTensorView& x : xs) {
    shapes.push_back(x.shape());
    RETURN_IF_ERROR(
        CheckOperands(ctx, "Concat", y.dtype(), {{"x", x}, {"y", y}}));
  }
  ASSIGN_OR_RETURN(const Shape joint, ConcatShape(shapes, axis));
  RETURN_IF_ERROR(CheckShape("Concat", {"y", y}, joint));
  int64_t at = 0;
  for (const ConstTensorView& x : xs) {
    const int64_t end = at + x.dim(axis);
    RETURN_IF_ERROR(Annotate(Copy(ctx, x, y.Slice(axis, at, end)), "Concat"));
    at = end;
  }
  return OkStatus();
}

}  // namespace densenet
