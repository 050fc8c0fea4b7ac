#include "core/ops/conv2d.h"

#include <fmt/format.h>

#include <limits>

#include "core/ops/checks.h"
#include "core/ops/conv2d_cpu.h"
#include "core/ops/conv2d_cuda.h"

namespace densenet {
namespace {

// The tensors of one call under the names of its messages.
struct Conv2dArgs {
  std::string_view op;
  std::string_view x_name;
  ConstTensorView x;
  std::string_view w_name;
  ConstTensorView w;
  std::string_view y_name;
  ConstTensorView y;
};

Conv2dArgs ForwardArgs(ConstTensorView x, ConstTensorView w,
                       ConstTensorView y) {
  return {"Conv2dForward", "x", x, "w", w, "y", y};
}

Conv2dArgs DataArgs(ConstTensorView dy, ConstTensorView w, ConstTensorView dx) {
  return {"Conv2dBackwardData", "dx", dx, "w", w, "dy", dy};
}

Conv2dArgs FilterArgs(ConstTensorView x, ConstTensorView dy,
                      ConstTensorView dw) {
  return {"Conv2dBackwardFilter", "x", x, "dw", dw, "dy", dy};
}

Status CheckFilter(std::string_view op, std::string_view x_name, const Shape& x,
                   std::string_view w_name, const Shape& w) {
  if (x.rank() != 4 || w.rank() != 4) {
    return InvalidArgument(fmt::format(
        "{}: {} has shape {} and {} has shape {}; they must be (N, H, W, C) "
        "and (R, S, C, K)",
        op, x_name, x.ToString(), w_name, w.ToString()));
  }
  if (w[2] != x[3]) {
    return InvalidArgument(fmt::format("{}: {} has C={}, {} has C={}", op,
                                       w_name, w[2], x_name, x[3]));
  }
  return OkStatus();
}

// oneDNN keeps strides and padding in 64 bits but computes some offsets of one
// image in 32.
Status CheckImageSize(std::string_view op, std::string_view name,
                      const Shape& shape) {
  constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
  int64_t elems = 0;
  if (__builtin_mul_overflow(shape[1], shape[2], &elems) ||
      __builtin_mul_overflow(elems, shape[3], &elems) || elems > kLimit) {
    return InvalidArgument(
        fmt::format("{}: one image of {} has shape {}, more than 2^31 - 1 "
                    "elements",
                    op, name, shape.ToString()));
  }
  return OkStatus();
}

StatusOr<Conv2dProblem> Check(const Context& ctx, const Conv2dArgs& args,
                              const Conv2dParams& params) {
  const auto& [op, x_name, x, w_name, w, y_name, y] = args;
  RETURN_IF_ERROR(CheckFilter(op, x_name, x.shape(), w_name, w.shape()));
  RETURN_IF_ERROR(CheckFloatRows(op, x_name, ctx, x, 4));
  RETURN_IF_ERROR(CheckFloatRows(op, w_name, ctx, w, 4));
  RETURN_IF_ERROR(CheckFloatRows(op, y_name, ctx, y, 4));
  if (!w.IsPacked()) {
    return InvalidArgument(fmt::format("{}: {} has strides {}, must be packed",
                                       op, w_name, w.strides().ToString()));
  }
  ASSIGN_OR_RETURN(const WindowGeometry geometry,
                   ResolveWindow(op, x.dim(1), x.dim(2), w.dim(0), w.dim(1),
                                 params.stride, params.padding));
  RETURN_IF_ERROR(
      CheckShape(op, y_name, y,
                 Shape{x.dim(0), geometry.out_h, geometry.out_w, w.dim(3)}));
  RETURN_IF_ERROR(CheckImageSize(op, x_name, x.shape()));
  RETURN_IF_ERROR(CheckImageSize(op, y_name, y.shape()));
  return Conv2dProblem{x.dim(0),        x.dim(1),        x.dim(2),
                       x.dim(3),        w.dim(0),        w.dim(1),
                       y.dim(1),        y.dim(2),        y.dim(3),
                       params.stride.h, params.stride.w, geometry.top,
                       geometry.bottom, geometry.left,   geometry.right};
}

}  // namespace

StatusOr<Shape> Conv2dOutputShape(const Shape& x, const Shape& w,
                                  const Conv2dParams& params) {
  constexpr char kOp[] = "Conv2d";
  RETURN_IF_ERROR(CheckFilter(kOp, "x", x, "w", w));
  ASSIGN_OR_RETURN(const WindowGeometry geometry,
                   ResolveWindow(kOp, x[1], x[2], w[0], w[1], params.stride,
                                 params.padding));
  return Shape{x[0], geometry.out_h, geometry.out_w, w[3]};
}

StatusOr<int64_t> Conv2dForwardWorkspaceBytes(const Context& ctx,
                                              ConstTensorView x,
                                              ConstTensorView w,
                                              const Conv2dParams& params,
                                              ConstTensorView y) {
  ASSIGN_OR_RETURN(const Conv2dProblem problem,
                   Check(ctx, ForwardArgs(x, w, y), params));
  if (ctx.device().is_cuda()) {
    return Conv2dForwardWorkspaceBytesCuda(ctx, problem, x, y);
  }
  return Conv2dForwardWorkspaceBytesCpu(ctx, problem, x, y);
}

Status Conv2dForward(const Context& ctx, ConstTensorView x, ConstTensorView w,
                     const Conv2dParams& params, TensorView y,
                     absl::Span<char> workspace) {
  ASSIGN_OR_RETURN(const Conv2dProblem problem,
                   Check(ctx, ForwardArgs(x, w, y), params));
  if (ctx.device().is_cuda()) {
    return Conv2dForwardCuda(ctx, problem, x, w, y, workspace);
  }
  return Conv2dForwardCpu(ctx, problem, x, w, y, workspace);
}

StatusOr<int64_t> Conv2dBackwardDataWorkspaceBytes(const Context& ctx,
                                                   ConstTensorView dy,
                                                   ConstTensorView w,
                                                   const Conv2dParams& params,
                                                   ConstTensorView dx) {
  ASSIGN_OR_RETURN(const Conv2dProblem problem,
                   Check(ctx, DataArgs(dy, w, dx), params));
  if (ctx.device().is_cuda()) {
    return Conv2dBackwardDataWorkspaceBytesCuda(ctx, problem, dy, dx);
  }
  return Conv2dBackwardDataWorkspaceBytesCpu(ctx, problem, dy, dx);
}

Status Conv2dBackwardData(const Context& ctx, ConstTensorView dy,
                          ConstTensorView w, const Conv2dParams& params,
                          TensorView dx, absl::Span<char> workspace) {
  ASSIGN_OR_RETURN(const Conv2dProblem problem,
                   Check(ctx, DataArgs(dy, w, dx), params));
  if (ctx.device().is_cuda()) {
    return Conv2dBackwardDataCuda(ctx, problem, dy, w, dx, workspace);
  }
  return Conv2dBackwardDataCpu(ctx, problem, dy, w, dx, workspace);
}

StatusOr<int64_t> Conv2dBackwardFilterWorkspaceBytes(const Context& ctx,
                                                     ConstTensorView x,
                                                     ConstTensorView dy,
                                                     const Conv2dParams& params,
                                                     ConstTensorView dw) {
  ASSIGN_OR_RETURN(const Conv2dProblem problem,
                   Check(ctx, FilterArgs(x, dy, dw), params));
  if (ctx.device().is_cuda()) {
    return Conv2dBackwardFilterWorkspaceBytesCuda(ctx, problem, x, dy);
  }
  return Conv2dBackwardFilterWorkspaceBytesCpu(ctx, problem, x, dy);
}

Status Conv2dBackwardFilter(const Context& ctx, ConstTensorView x,
                            ConstTensorView dy, const Conv2dParams& params,
                            TensorView dw, absl::Span<char> workspace) {
  ASSIGN_OR_RETURN(const Conv2dProblem problem,
                   Check(ctx, FilterArgs(x, dy, dw), params));
  if (ctx.device().is_cuda()) {
    return Conv2dBackwardFilterCuda(ctx, problem, x, dy, dw, workspace);
  }
  return Conv2dBackwardFilterCpu(ctx, problem, x, dy, dw, workspace);
}

}  // namespace densenet
