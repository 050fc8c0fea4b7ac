// core/io/image_cut.h
//
// A part of an image at another size, out of a JPEG or PNG file that is
// decoded row by row: what a network is shown of a photograph. The photograph
// itself is never held.
//
// Shapes    pixels (H, W, 3) of the shown image, as core/io/image.h turns it
// Memory    a few rows; see core/io/image_codecs.h for what the libraries hold
// Errors    those of DecodeImage, also for damage outside the cut
// Numerics  those of core/io/image_resize.h, as if the whole image had been
//           decoded, cut, resized and cut again; turned images by one level
//           (their columns are resized first)
// Threads   safe for different ImageCutters

#ifndef DENSENET_CORE_IO_IMAGE_CUT_H_
#define DENSENET_CORE_IO_IMAGE_CUT_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/io/image_resize.h"
#include "core/status.h"

namespace densenet {

// Both axes of a cut: see ResizeAxis.
struct ImageCut {
  ResizeAxis rows;
  ResizeAxis columns;

  friend bool operator==(const ImageCut&, const ImageCut&) = default;
};

// Says what is wanted of an image, when its size is known.
using ChooseCut = absl::FunctionRef<ImageCut(int64_t height, int64_t width)>;

// Keeps its buffers from one image to the next.
class ImageCutter {
 public:
  // Into `out` (rows.out, columns.out, 3). CHECKs that the cut lies within the
  // image.
  Status Decode(std::string_view bytes, std::string_view name, ChooseCut choose,
                uint8_t* out);
  // Of `pixels` (height, width, channels) in memory.
  void Cut(const uint8_t* pixels, int64_t height, int64_t width,
           int64_t channels, const ImageCut& cut, uint8_t* out);

 private:
  class Sink;

  RowResizer resizer_;
  std::vector<uint8_t> stored_;  // the cut before it is turned
};

// The resize that covers (height, width) `margin` times, with its proportions
// kept, and of that the middle: margin 256 / 224 is how ImageNet is evaluated
// (shorter side 256, centre 224), 1 cuts off as little as possible.
ImageCut CenterCut(int64_t image_height, int64_t image_width, int64_t height,
                   int64_t width, double margin);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_IMAGE_CUT_H_
