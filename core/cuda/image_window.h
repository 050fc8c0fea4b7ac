// core/cuda/image_window.h
//
// Images (N, H, W, C), whose pixels may stand row_stride apart, inside packed
// ones with a border of zeros: for libraries that take neither strides nor a
// border that differs between two sides. The index arithmetic is here, apart
// from the kernels, so that tests without a card cover it.

#ifndef DENSENET_CORE_CUDA_IMAGE_WINDOW_H_
#define DENSENET_CORE_CUDA_IMAGE_WINDOW_H_

#include <cstdint>

#include "core/context.h"
#include "core/host_device.h"
#include "core/status.h"

namespace densenet {

struct ImageWindow {
  int64_t n = 0, h = 0, w = 0, c = 0;
  int64_t row_stride = 0;
  // The border, and with it the packed extents.
  int64_t top = 0, bottom = 0, left = 0, right = 0;

  DENSENET_HOST_DEVICE int64_t packed_h() const { return top + h + bottom; }
  DENSENET_HOST_DEVICE int64_t packed_w() const { return left + w + right; }
  DENSENET_HOST_DEVICE int64_t packed_elems() const {
    return n * packed_h() * packed_w() * c;
  }

  // Where element i of the packed images stands in the strided ones; -1 in the
  // border.
  DENSENET_HOST_DEVICE int64_t Source(int64_t i) const {
    const int64_t pixel = i / c;
    const int64_t line = pixel / packed_w();
    const int64_t x = pixel - line * packed_w() - left;
    const int64_t image = line / packed_h();
    const int64_t y = line - image * packed_h() - top;
    if (x < 0 || x >= w || y < 0 || y >= h) return -1;
    return ((image * h + y) * w + x) * row_stride + (i - pixel * c);
  }
};

// packed = x with its border of zeros; enqueued on ctx's stream.
Status PackImages(const Context& ctx, const ImageWindow& window, const float* x,
                  float* packed);
// x = packed without its border.
Status UnpackImages(const Context& ctx, const ImageWindow& window,
                    const float* packed, float* x);
// y (cols x rows) = the transpose of x (rows x cols), both packed.
Status TransposeMatrix(const Context& ctx, const float* x, int64_t rows,
                       int64_t cols, float* y);

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_IMAGE_WINDOW_H_
