// core/io/image.h
//
// JPEG and PNG files as pixels, as an image viewer shows them: turned as their
// EXIF orientation says, transparent parts over white, gray and CMYK as RGB.
//
// Shapes    pixels (H, W, 3): red, green, blue
// Types     uint8; 16-bit PNGs are rounded to 8
// Memory    the pixels; beside them while it is decoded 6 bytes a pixel for a
//           progressive JPEG and 4 for an interlaced PNG, and 3 while an image
//           is turned
// Errors    InvalidArgument  neither JPEG nor PNG; more than 2^28 pixels, or
//                            bytes of a file, 2^26 pixels progressive or
//                            interlaced
//           DataLoss         cut or damaged
//           ResourceExhausted  no memory for what the decoder needs
//           Messages begin with the name that the caller gives.
// Threads   safe

#ifndef DENSENET_CORE_IO_IMAGE_H_
#define DENSENET_CORE_IO_IMAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace densenet {

// A file that is larger is not read: no photograph is.
inline constexpr int64_t kMaxImageFileBytes = int64_t{1} << 28;

struct Image {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> pixels;  // (H, W, 3)

  friend bool operator==(const Image&, const Image&) = default;
};

StatusOr<Image> DecodeImage(std::string_view bytes, std::string_view name);

// Reads and decodes a file; errors name its path.
StatusOr<Image> ReadImage(const std::string& path);

// (H, W): luma of ITU-R BT.601.
std::vector<uint8_t> ToGray(const Image& image);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_IMAGE_H_
