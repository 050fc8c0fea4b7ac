#include "core/io/png_writer.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <png.h>

#include <csetjmp>
#include <limits>

namespace densenet {
namespace {

void OnError(png_structp png, png_const_charp) { png_longjmp(png, 1); }
void OnWarning(png_structp, png_const_charp) {}
void OnFlush(png_structp) {}

void OnWrite(png_structp png, png_bytep data, size_t bytes) {
  static_cast<std::string*>(png_get_io_ptr(png))
      ->append(reinterpret_cast<const char*>(data), bytes);
}

// Nothing here needs a destructor: libpng jumps over the frame.
bool Write(png_structp png, png_infop info, const uint8_t* pixels,
           png_uint_32 height, png_uint_32 width, int64_t channels,
           std::string* out) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_write_fn(png, out, OnWrite, OnFlush);
  png_set_IHDR(png, info, width, height, 8,
               channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (png_uint_32 y = 0; y < height; ++y) {
    png_write_row(png, pixels + int64_t{y} * width * channels);
  }
  png_write_end(png, info);
  return true;
}

}  // namespace

StatusOr<std::string> EncodePng(const uint8_t* pixels, int64_t height,
                                int64_t width, int64_t channels) {
  constexpr int64_t kMaxSide = std::numeric_limits<int32_t>::max();
  CHECK(1 <= height && height <= kMaxSide && 1 <= width && width <= kMaxSide);
  CHECK(channels == 1 || channels == 3);
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr,
                                            OnError, OnWarning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  const bool written =
      info != nullptr &&
      Write(png, info, pixels, static_cast<png_uint_32>(height),
            static_cast<png_uint_32>(width), channels, &file);
  png_destroy_write_struct(&png, &info);
  if (written) return file;
  return ResourceExhausted(
      fmt::format("PNG of {}x{} pixels: libpng has no memory", height, width));
}

}  // namespace densenet
