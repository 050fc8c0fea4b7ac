#include "core/ops/elementwise.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>

#include "core/ops/elementwise_cpu.h"
#include "core/ops/elementwise_cuda.h"
#include "core/ops/operands.h"

namespace densenet {
namespace {

Status Binary(const Context& ctx, std::string_view name, BinaryOp op,
              ConstTensorView a, ConstTensorView b, TensorView y) {
  RETURN_IF_ERROR(CheckOperands(ctx, name, DType::kFloat32,
                                {{"a", a}, {"b", b}, {"y", y}}));
  ASSIGN_OR_RETURN(const Shape shape,
                   BroadcastShape(name, a.shape(), b.shape()));
  RETURN_IF_ERROR(CheckShape(name, {"y", y}, shape));
  const ConstTensorView wide_a = BroadcastView(a, shape);
  const ConstTensorView wide_b = BroadcastView(b, shape);
  if (ctx.device().is_cuda()) return BinaryCuda(ctx, op, wide_a, wide_b, y);
  BinaryCpu(ctx, op, wide_a, wide_b, y);
  return OkStatus();
}

Status ScaleBy(const Context& ctx, std::string_view name, ConstTensorView x,
               float factor, TensorView y) {
  RETURN_IF_ERROR(
      CheckOperands(ctx, name, DType::kFloat32, {{"x", x}, {"y", y}}));
  RETURN_IF_ERROR(CheckShape(name, {"y", y}, x.shape()));
  if (ctx.device().is_cuda()) return ScaleCuda(ctx, x, factor, y);
  ScaleCpu(ctx, x, factor, y);
  return OkStatus();
}

}  // namespace

Status Add(const Context& ctx, ConstTensorView a, ConstTensorView b,
           TensorView y) {
  return Binary(ctx, "Add", BinaryOp::kAdd, a, b, y);
}

Status Subtract(const Context& ctx, ConstTensorView a, ConstTensorView b,
                TensorView y) {
  return Binary(ctx, "Subtract", BinaryOp::kSubtract, a, b, y);
}

Status Multiply(const Context& ctx, ConstTensorView a, ConstTensorView b,
                TensorView y) {
  return Binary(ctx, "Multiply", BinaryOp::kMultiply, a, b, y);
}

Status Scale(const Context& ctx, ConstTensorView x, float factor,
             TensorView y) {
  return ScaleBy(ctx, "Scale", x, factor, y);
}

Status Negate(const Context& ctx, ConstTensorView x, TensorView y) {
  return ScaleBy(ctx, "Negate", x, -1.0f, y);
}

StatusOr<Shape> BroadcastShape(std::string_view op, const Shape& a,
                               const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape joint = longer;
  for (int axis = 1; axis <= shorter.rank(); ++axis) {
    const int64_t p = longer.dim(-axis);
    const int64_t q = shorter.dim(-axis);
    if (p != q && p != 1 && q != 1) {
      return InvalidArgument(fmt::format(
          "{}: a {} and b {} do not broadcast: counted from the innermost, "
          "extents must be equal or 1",
          op, a.ToString(), b.ToString()));
    }
    joint.set_dim(-axis, p == 1 ? q : p);
  }
  return joint;
}

ConstTensorView BroadcastView(ConstTensorView x, const Shape& shape) {
  const int missing = shape.rank() - x.rank();
  CHECK_GE(missing, 0);
  Shape strides = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool repeats = axis < missing || x.dim(axis - missing) == 1;
    CHECK(repeats || x.dim(axis - missing) == shape.dim(axis))
        << x.ToString() << " to " << shape.ToString();
    strides.set_dim(axis, repeats ? 0 : x.stride(axis - missing));
  }
  return ConstTensorView(x.raw(), x.dtype(), shape, strides, x.device());
}

}  // namespace densenet
