// core/ops/window.h
//
// The geometry that convolution and pooling share: a window that moves over
// (H, W) in steps, and the padding around the image.
//
// Output extents, per axis:
//   VALID     floor((extent - window) / stride) + 1, no padding
//   SAME      ceil(extent / stride); the padding it takes is split in two, the
//             odd element at the bottom and right (as in TensorFlow)
//   explicit  floor((extent + before + after - window) / stride) + 1

#ifndef DENSENET_CORE_OPS_WINDOW_H_
#define DENSENET_CORE_OPS_WINDOW_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace densenet {

struct Stride {
  int64_t h = 1;
  int64_t w = 1;
};

struct Padding {
  enum class Kind { kValid, kSame, kExplicit };

  Kind kind = Kind::kValid;
  // Rows and columns added on each side; used by kExplicit.
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;

  static Padding Valid() { return {}; }
  static Padding Same() { return {Kind::kSame, 0, 0, 0, 0}; }
  static Padding Explicit(int64_t top, int64_t bottom, int64_t left,
                          int64_t right) {
    return {Kind::kExplicit, top, bottom, left, right};
  }

  // "SAME", "VALID" or "(top 1, bottom 1, left 1, right 1)"
  std::string ToString() const;
};

// Window extents, stride and padding of a pooling.
struct PoolParams {
  int64_t window_h = 1;
  int64_t window_w = 1;
  Stride stride;
  Padding padding;
};

// A window over an image of known size: the padding in elements and the extent
// of the output.
struct WindowGeometry {
  int64_t top = 0;
  int64_t bottom = 0;
  int64_t left = 0;
  int64_t right = 0;
  int64_t out_h = 0;
  int64_t out_w = 0;
};

// Errors  InvalidArgument, each naming `op` and the extents
//           window, stride or image extent < 1; explicit padding < 0
//           the window is larger than the padded image
StatusOr<WindowGeometry> ResolveWindow(std::string_view op, int64_t h,
                                       int64_t w, int64_t window_h,
                                       int64_t window_w, const Stride& stride,
                                       const Padding& padding);

// The same for a pooling, which also refuses padding as large as the window:
// such a window would cover no element.
StatusOr<WindowGeometry> ResolvePool(std::string_view op, int64_t h, int64_t w,
                                     const PoolParams& params);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_WINDOW_H_
