// core/cpu/pool_windows.h
//
// The windows of a pooling, clipped to the image: what max and average pooling
// on the CPU walk over.

#ifndef DENSENET_CORE_CPU_POOL_WINDOWS_H_
#define DENSENET_CORE_CPU_POOL_WINDOWS_H_

#include <algorithm>
#include <cstdint>

#include "core/cpu/chunks.h"
#include "core/ops/window.h"
#include "core/tensor.h"

namespace densenet {

// The rows [h_begin, h_end) and columns [w_begin, w_end) of the image that lie
// under one window; never empty (ResolvePool).
struct PoolWindow {
  int64_t h_begin;
  int64_t h_end;
  int64_t w_begin;
  int64_t w_end;

  int64_t elems() const { return (h_end - h_begin) * (w_end - w_begin); }
};

inline PoolWindow ClippedWindow(int64_t p, int64_t q, int64_t h, int64_t w,
                                const PoolParams& params,
                                const WindowGeometry& geometry) {
  const int64_t top = p * params.stride.h - geometry.top;
  const int64_t left = q * params.stride.w - geometry.left;
  return {std::max<int64_t>(top, 0), std::min(top + params.window_h, h),
          std::max<int64_t>(left, 0), std::min(left + params.window_w, w)};
}

// The element (n, h, w, 0) of a row-strided (N, H, W, C) view.
template <typename T>
struct ImageRows {
  T* data;
  int64_t height;
  int64_t width;
  int64_t stride;

  template <typename View>
  explicit ImageRows(const View& view)
      : data(view.template data<std::remove_const_t<T>>()),
        height(view.dim(1)),
        width(view.dim(2)),
        stride(view.row_stride()) {}

  T* at(int64_t n, int64_t h, int64_t w) const {
    return data + ((n * height + h) * width + w) * stride;
  }
};

// Sets all elements of image n to 0.
inline void ClearImage(const ImageRows<float>& image, int64_t n,
                       int64_t channels) {
  float* row = image.at(n, 0, 0);
  for (int64_t i = 0; i < image.height * image.width; ++i) {
    std::fill(row, row + channels, 0.0f);
    row += image.stride;
  }
}

// Images or output rows per task never exceed this many tasks.
inline constexpr int64_t kMaxPoolTasks = 256;

}  // namespace densenet

#endif  // DENSENET_CORE_CPU_POOL_WINDOWS_H_
