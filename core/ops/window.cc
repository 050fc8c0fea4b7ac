#include "core/ops/window.h"

#include <fmt/format.h>

#include <algorithm>

namespace densenet {
namespace {

// Extent of one axis, with its padding before and after.
struct Axis {
  int64_t before = 0;
  int64_t after = 0;
  int64_t out = 0;
};

Axis ResolveAxis(int64_t extent, int64_t window, int64_t stride,
                 Padding::Kind kind, int64_t before, int64_t after) {
  switch (kind) {
    case Padding::Kind::kSame: {
      const int64_t out = (extent + stride - 1) / stride;
      const int64_t total =
          std::max<int64_t>((out - 1) * stride + window - extent, 0);
      return {total / 2, total - total / 2, out};
    }
    case Padding::Kind::kValid:
      before = 0;
      after = 0;
      break;
    case Padding::Kind::kExplicit:
      break;
  }
  const int64_t room = extent + before + after - window;
  return {before, after, room < 0 ? 0 : room / stride + 1};
}

}  // namespace

std::string Padding::ToString() const {
  switch (kind) {
    case Kind::kValid:
      return "VALID";
    case Kind::kSame:
      return "SAME";
    case Kind::kExplicit:
      break;
  }
  return fmt::format("(top {}, bottom {}, left {}, right {})", top, bottom,
                     left, right);
}

StatusOr<WindowGeometry> ResolveWindow(std::string_view op, int64_t h,
                                       int64_t w, int64_t window_h,
                                       int64_t window_w, const Stride& stride,
                                       const Padding& padding) {
  if (h < 1 || w < 1) {
    return InvalidArgument(
        fmt::format("{}: image of {} x {}; both must be at least 1", op, h, w));
  }
  if (window_h < 1 || window_w < 1) {
    return InvalidArgument(
        fmt::format("{}: window of {} x {}; both must be at least 1", op,
                    window_h, window_w));
  }
  if (stride.h < 1 || stride.w < 1) {
    return InvalidArgument(
        fmt::format("{}: stride of {} x {}; both must be at least 1", op,
                    stride.h, stride.w));
  }
  if (padding.kind == Padding::Kind::kExplicit &&
      std::min({padding.top, padding.bottom, padding.left, padding.right}) <
          0) {
    return InvalidArgument(
        fmt::format("{}: padding {} is negative", op, padding.ToString()));
  }
  const Axis rows = ResolveAxis(h, window_h, stride.h, padding.kind,
                                padding.top, padding.bottom);
  const Axis columns = ResolveAxis(w, window_w, stride.w, padding.kind,
                                   padding.left, padding.right);
  if (rows.out < 1 || columns.out < 1) {
    return InvalidArgument(fmt::format(
        "{}: window of {} x {} does not fit the image of {} x {} with padding "
        "{}; use SAME padding or a smaller window",
        op, window_h, window_w, h, w, padding.ToString()));
  }
  return WindowGeometry{rows.before,   rows.after, columns.before,
                        columns.after, rows.out,   columns.out};
}

StatusOr<WindowGeometry> ResolvePool(std::string_view op, int64_t h, int64_t w,
                                     const PoolParams& params) {
  ASSIGN_OR_RETURN(const WindowGeometry geometry,
                   ResolveWindow(op, h, w, params.window_h, params.window_w,
                                 params.stride, params.padding));
  if (std::max(geometry.top, geometry.bottom) >= params.window_h ||
      std::max(geometry.left, geometry.right) >= params.window_w) {
    return InvalidArgument(fmt::format(
        "{}: padding {} must be smaller than the window of {} x {}, or a "
        "window could lie in padding alone",
        op, params.padding.ToString(), params.window_h, params.window_w));
  }
  return geometry;
}

}  // namespace densenet
