// core/io/image_resize.h
//
// Bilinear resizing that weighs every pixel it shrinks (a triangle as wide as
// the scale), and cutting out the middle: what brings a photograph to the size
// a network was trained on.
//
// Memory    RowResizer holds the rows that one row of the result is made of
// Numerics  Pillow's: 22-bit fixed-point weights, rows first, each pass
//           rounded to uint8
// Errors    InvalidArgument  an empty image or size; a cut larger than the
//                            image
// Threads   safe

#ifndef DENSENET_CORE_IO_IMAGE_RESIZE_H_
#define DENSENET_CORE_IO_IMAGE_RESIZE_H_

#include <cstdint>
#include <vector>

#include "core/io/image.h"
#include "core/status.h"

namespace densenet {

// One axis of a resize of which only a part is wanted: [begin, begin + length)
// of the input is brought to `scaled` pixels, and of these the `out` ones from
// `out_begin` on are made.
struct ResizeAxis {
  int64_t begin = 0;
  int64_t length = 0;
  int64_t scaled = 0;
  int64_t out_begin = 0;
  int64_t out = 0;

  friend bool operator==(const ResizeAxis&, const ResizeAxis&) = default;
};

// Resizes an image that arrives row by row. Can be reset for the next image,
// and then allocates nothing that the last one had already.
class RowResizer {
 public:
  // CHECKs that the axes make sense and channels >= 1.
  void Reset(const ResizeAxis& rows, const ResizeAxis& columns,
             int64_t channels);
  // The rows of the image that are needed: [first_row, end_row).
  int64_t first_row() const { return first_row_; }
  int64_t end_row() const { return end_row_; }
  // Takes row `y` (image width, C), each of the needed ones once, in order,
  // and writes the rows of `out` (rows.out, columns.out, C) it completes.
  void Add(int64_t y, const uint8_t* row, uint8_t* out);

 private:
  // The input pixels that an output pixel is the weighted sum of.
  struct Window {
    int64_t begin = 0;
    int64_t count = 0;
    int64_t weights = 0;  // index of the first
  };
  struct Axis {
    std::vector<Window> windows;   // of each output pixel
    std::vector<int32_t> weights;  // of a window: sum about 2^22
    int64_t longest = 0;           // window
  };

  static void MakeWindows(const ResizeAxis& axis, Axis* windows);
  void ResizeRow(const uint8_t* row, uint8_t* out) const;
  void CombineRows(const Window& window, uint8_t* out);
  uint8_t* KeptRow(int64_t y) {
    return kept_.data() + (y % rows_.longest) * row_bytes_;
  }

  Axis rows_;
  Axis columns_;
  int64_t channels_ = 0;
  int64_t row_bytes_ = 0;  // of the result
  int64_t first_row_ = 0;
  int64_t end_row_ = 0;
  size_t next_out_ = 0;
  std::vector<uint8_t> kept_;  // the last rows, resized: a ring
  std::vector<int32_t> sums_;
};

StatusOr<Image> ResizeBilinear(const Image& image, int64_t height,
                               int64_t width);

StatusOr<Image> CenterCrop(const Image& image, int64_t height, int64_t width);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_IMAGE_RESIZE_H_
