#include "core/ops/max_pool.h"

#include <fmt/format.h>

#include "core/ops/checks.h"
#include "core/ops/max_pool_cpu.h"

namespace densenet {
namespace {

constexpr char kForward[] = "MaxPool";
constexpr char kBackward[] = "MaxPoolBackward";

// Checks both activations; the geometry when they fit.
StatusOr<WindowGeometry> CheckPool(std::string_view op, const Context& ctx,
                                   std::string_view x_name, ConstTensorView x,
                                   const PoolParams& params,
                                   std::string_view y_name, ConstTensorView y) {
  RETURN_IF_ERROR(CheckFloatRows(op, x_name, ctx, x, 4));
  RETURN_IF_ERROR(CheckFloatRows(op, y_name, ctx, y, 4));
  ASSIGN_OR_RETURN(const WindowGeometry geometry,
                   ResolvePool(op, x.dim(1), x.dim(2), params));
  RETURN_IF_ERROR(
      CheckShape(op, y_name, y,
                 Shape{x.dim(0), geometry.out_h, geometry.out_w, x.dim(3)}));
  return geometry;
}

}  // namespace

StatusOr<Shape> MaxPoolOutputShape(const Shape& x, const PoolParams& params) {
  if (x.rank() != 4) {
    return InvalidArgument(fmt::format("{}: x has shape {}, must have rank 4",
                                       kForward, x.ToString()));
  }
  ASSIGN_OR_RETURN(const WindowGeometry geometry,
                   ResolvePool(kForward, x.dim(1), x.dim(2), params));
  return Shape{x.dim(0), geometry.out_h, geometry.out_w, x.dim(3)};
}

Status MaxPool(const Context& ctx, ConstTensorView x, const PoolParams& params,
               TensorView y) {
  ASSIGN_OR_RETURN(const WindowGeometry geometry,
                   CheckPool(kForward, ctx, "x", x, params, "y", y));
  if (ctx.device().is_cuda()) return NoCudaKernel(kForward);
  MaxPoolCpu(ctx, x, params, geometry, y);
  return OkStatus();
}

Status MaxPoolBackward(const Context& ctx, ConstTensorView x,
                       ConstTensorView dy, const PoolParams& params,
                       TensorView dx) {
  ASSIGN_OR_RETURN(const WindowGeometry geometry,
                   CheckPool(kBackward, ctx, "x", x, params, "dy", dy));
  RETURN_IF_ERROR(CheckFloatRows(kBackward, "dx", ctx, dx, 4));
  RETURN_IF_ERROR(CheckShape(kBackward, "dx", dx, x.shape()));
  if (ctx.device().is_cuda()) return NoCudaKernel(kBackward);
  MaxPoolBackwardCpu(ctx, x, dy, params, geometry, dx);
  return OkStatus();
}

}  // namespace densenet
