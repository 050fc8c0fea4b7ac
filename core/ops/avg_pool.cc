#include "core/ops/avg_pool.h"

#include <fmt/format.h>

#include "core/ops/avg_pool_cpu.h"
#include "core/ops/checks.h"

namespace densenet {
namespace {

constexpr char kForward[] = "AvgPool";
constexpr char kBackward[] = "AvgPoolBackward";

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

StatusOr<Shape> AvgPoolOutputShape(const Shape& x, const PoolParams& params) {
  if (x.rank() != 4) {
    return InvalidArgument(fmt::format("{}: x has shape {}, must have rank 4",
                                       kForward, x.ToString()));
  }
  ASSIGN_OR_RETURN(const WindowGeometry geometry,
                   ResolvePool(kForward, x.dim(1), x.dim(2), params));
  return Shape{x.dim(0), geometry.out_h, geometry.out_w, x.dim(3)};
}

Status AvgPool(const Context& ctx, ConstTensorView x, const PoolParams& params,
               AvgPoolDivisor divisor, TensorView y) {
  ASSIGN_OR_RETURN(const WindowGeometry geometry,
                   CheckPool(kForward, ctx, "x", x, params, "y", y));
  if (ctx.device().is_cuda()) return NoCudaKernel(kForward);
  AvgPoolCpu(ctx, x, params, geometry, divisor, y);
  return OkStatus();
}

Status AvgPoolBackward(const Context& ctx, ConstTensorView dy,
                       const PoolParams& params, AvgPoolDivisor divisor,
                       TensorView dx) {
  ASSIGN_OR_RETURN(const WindowGeometry geometry,
                   CheckPool(kBackward, ctx, "dx", dx, params, "dy", dy));
  if (ctx.device().is_cuda()) return NoCudaKernel(kBackward);
  AvgPoolBackwardCpu(ctx, dy, params, geometry, divisor, dx);
  return OkStatus();
}

}  // namespace densenet
