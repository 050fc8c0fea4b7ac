// core/io/image_info.h
//
// Whether a JPEG or PNG file is whole, and what it stores, without keeping its
// pixels.
//
// Memory    what decoding takes (core/io/image.h)
// Errors    those of DecodeImage
// Threads   safe

#ifndef DENSENET_CORE_IO_IMAGE_INFO_H_
#define DENSENET_CORE_IO_IMAGE_INFO_H_

#include <cstdint>
#include <string_view>

#include "core/status.h"

namespace densenet {

struct ImageInfo {
  std::string_view format;  // "jpeg" or "png"
  // As stored, before it is turned as its EXIF orientation says.
  int64_t height = 0;
  int64_t width = 0;
};

// Decodes the whole of `bytes`.
StatusOr<ImageInfo> CheckImage(std::string_view bytes, std::string_view name);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_IMAGE_INFO_H_
