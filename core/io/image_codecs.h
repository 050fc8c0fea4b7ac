// core/io/image_codecs.h
//
// What core/io/image.cc dispatches to. Not for others.

#ifndef DENSENET_CORE_IO_IMAGE_CODECS_H_
#define DENSENET_CORE_IO_IMAGE_CODECS_H_

#include <cstdint>
#include <string_view>

#include "core/io/image.h"
#include "core/status.h"

namespace densenet::image_codecs {

// Guards against a header that promises more than anybody has.
inline constexpr int64_t kMaxPixels = int64_t{1} << 28;

Status TooLarge(std::string_view name, int64_t height, int64_t width);

// The EXIF orientation, 1 to 8, of a TIFF structure; 1 when there is none.
int ExifOrientation(std::string_view tiff);

// A decoded image as it is stored, and how it is to be turned.
struct Stored {
  Image image;
  int orientation = 1;
};

StatusOr<Stored> DecodeJpeg(std::string_view bytes, std::string_view name);
StatusOr<Stored> DecodePng(std::string_view bytes, std::string_view name);

}  // namespace densenet::image_codecs

#endif  // DENSENET_CORE_IO_IMAGE_CODECS_H_
