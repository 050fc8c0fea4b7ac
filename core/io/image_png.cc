// Nothing that needs a destructor lives in a frame that libpng jumps over:
// every phase is a function of plain values that sets its own mark.

#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/io/image_codecs.h"

namespace densenet::image_codecs {
namespace {

constexpr png_uint_32 kMaxSide = 1'000'000;

struct Decoder {
  png_structp png;
  png_infop info;
  const char* bytes;
  size_t left;
  char message[200];
};

void OnError(png_structp png, png_const_charp text) {
  auto* self = static_cast<Decoder*>(png_get_error_ptr(png));
  std::snprintf(self->message, sizeof(self->message), "%s", text);
  png_longjmp(png, 1);
}

// Warnings are of ancillary chunks: colour profiles, text.
void OnWarning(png_structp, png_const_charp) {}

void OnRead(png_structp png, png_bytep out, size_t count) {
  auto* self = static_cast<Decoder*>(png_get_io_ptr(png));
  if (count > self->left) png_error(png, "the file ends too early");
  std::memcpy(out, self->bytes, count);
  self->bytes += count;
  self->left -= count;
}

// Asks for 8-bit red, green, blue and alpha, whatever is stored.
bool ReadHeader(Decoder* self) {
  png_structp png = self->png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, self, OnRead);
  png_set_user_limits(png, kMaxSide, kMaxSide);
  png_read_info(png, self->info);
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
  png_set_interlace_handling(png);
  png_read_update_info(png, self->info);
  return true;
}

bool ReadPixels(Decoder* self, png_bytepp rows) {
  png_structp png = self->png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_image(png, rows);
  png_read_end(png, self->info);
  return true;
}

// Over white, as stored: without a detour through linear light.
void BlendOverWhite(const std::vector<uint8_t>& rgba,
                    std::vector<uint8_t>* rgb) {
  const size_t count = rgba.size() / 4;
  rgb->resize(3 * count);
  for (size_t i = 0; i < count; ++i) {
    const int alpha = rgba[4 * i + 3];
    for (size_t c = 0; c < 3; ++c) {
      const int sum = rgba[4 * i + c] * alpha + 255 * (255 - alpha);
      (*rgb)[3 * i + c] = static_cast<uint8_t>((sum + 127) / 255);
    }
  }
}

int Orientation(png_structp png, png_infop info) {
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png, info, &size, &exif) == 0) return 1;
  return ExifOrientation({reinterpret_cast<const char*>(exif), size});
}

StatusOr<Stored> Decode(Decoder* self, std::string_view name) {
  const auto damaged = [&] {
    return DataLoss(fmt::format("{}: damaged PNG: {}", name, self->message));
  };
  if (!ReadHeader(self)) return damaged();
  Stored stored;
  stored.image.height = png_get_image_height(self->png, self->info);
  stored.image.width = png_get_image_width(self->png, self->info);
  const int64_t count = stored.image.height * stored.image.width;
  if (count > kMaxPixels) {
    return TooLarge(name, stored.image.height, stored.image.width);
  }
  std::vector<uint8_t> rgba(static_cast<size_t>(count * 4));
  std::vector<png_bytep> rows;
  for (int64_t y = 0; y < stored.image.height; ++y) {
    rows.push_back(rgba.data() + y * stored.image.width * 4);
  }
  if (!ReadPixels(self, rows.data())) return damaged();
  stored.orientation = Orientation(self->png, self->info);
  BlendOverWhite(rgba, &stored.image.pixels);
  return stored;
}

}  // namespace

StatusOr<Stored> DecodePng(std::string_view bytes, std::string_view name) {
  Decoder decoder = {.png = nullptr,
                     .info = nullptr,
                     .bytes = bytes.data(),
                     .left = bytes.size(),
                     .message = ""};
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, OnError,
                                       OnWarning);
  if (decoder.png != nullptr) {
    decoder.info = png_create_info_struct(decoder.png);
  }
  StatusOr<Stored> stored =
      decoder.info != nullptr ? Decode(&decoder, name)
                              : StatusOr<Stored>(ResourceExhausted(fmt::format(
                                    "{}: libpng has no memory", name)));
  png_destroy_read_struct(&decoder.png, &decoder.info, nullptr);
  return stored;
}

}  // namespace densenet::image_codecs
