// core/io/png_writer.h
//
// Pixels as a PNG file.
//
// Shapes    pixels (H, W, C), C = 1 (gray) or 3 (red, green, blue)
// Memory    the file, and what libpng needs
// Errors    ResourceExhausted  libpng has no memory
// Numerics  equal pixels are equal bytes; DecodeImage gives the pixels back
// Threads   safe

#ifndef DENSENET_CORE_IO_PNG_WRITER_H_
#define DENSENET_CORE_IO_PNG_WRITER_H_

#include <cstdint>
#include <string>

#include "core/status.h"

namespace densenet {

// CHECKs height and width >= 1 and <= 2^31 - 1, and channels.
StatusOr<std::string> EncodePng(const uint8_t* pixels, int64_t height,
                                int64_t width, int64_t channels);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_PNG_WRITER_H_
