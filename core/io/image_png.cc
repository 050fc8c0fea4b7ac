// Nothing that needs a destructor lives in a frame that libpng jumps over:
// every phase is a function of plain values that sets its own mark.

#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
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

// Over white, as stored: without a detour through linear light.
void BlendOverWhite(const uint8_t* rgba, int64_t width, uint8_t* rgb) {
  for (int64_t x = 0; x < width; ++x, rgba += 4, rgb += 3) {
    const int alpha = rgba[3];
    for (int c = 0; c < 3; ++c) {
      const int sum = rgba[c] * alpha + 255 * (255 - alpha);
      rgb[c] = static_cast<uint8_t>((sum + 127) / 255);
    }
  }
}

// One row at a time; `rgba` has room for a row.
bool ReadRows(Decoder* self, int64_t height, int64_t width, RowRange wanted,
              uint8_t* rgba, uint8_t* rgb, RowSink& sink) {
  png_structp png = self->png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  for (int64_t y = 0; y < height; ++y) {
    png_read_row(png, rgba, nullptr);
    if (y < wanted.begin || y >= wanted.end) continue;
    BlendOverWhite(rgba, width, rgb);
    sink.Row(y, rgb);
  }
  png_read_end(png, self->info);
  return true;
}

// All at once, as interlacing asks for.
bool ReadWhole(Decoder* self, png_bytepp rows) {
  png_structp png = self->png;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_image(png, rows);
  png_read_end(png, self->info);
  return true;
}

// `rgba` has room for the image.
bool ReadInterlaced(Decoder* self, const StoredSize& size, RowRange wanted,
                    uint8_t* rgba, uint8_t* rgb, RowSink& sink) {
  std::vector<png_bytep> rows;
  for (int64_t y = 0; y < size.height; ++y) {
    rows.push_back(rgba + y * size.width * 4);
  }
  if (!ReadWhole(self, rows.data())) return false;
  for (int64_t y = wanted.begin; y < wanted.end; ++y) {
    BlendOverWhite(rows[static_cast<size_t>(y)], size.width, rgb);
    sink.Row(y, rgb);
  }
  return true;
}

// Of the eXIf chunk, which may also stand behind the pixels.
int Orientation(std::string_view png) {
  constexpr size_t kSignatureBytes = 8;
  constexpr size_t kFrameBytes = 12;  // length, type and CRC of a chunk
  size_t at = kSignatureBytes;
  while (at + kFrameBytes <= png.size()) {
    const auto* p = reinterpret_cast<png_const_bytep>(png.data() + at);
    const size_t length = png_get_uint_32(p);
    if (length > png.size() - at - kFrameBytes) return 1;
    if (png.substr(at + 4, 4) == "eXIf") {
      return ExifOrientation(png.substr(at + 8, length));
    }
    at += kFrameBytes + length;
  }
  return 1;
}

Status DecodeRows(Decoder* self, std::string_view bytes, std::string_view name,
                  RowSink& sink) {
  const auto damaged = [&] {
    return DataLoss(fmt::format("{}: damaged PNG: {}", name, self->message));
  };
  if (!ReadHeader(self)) return damaged();
  const StoredSize size{png_get_image_height(self->png, self->info),
                        png_get_image_width(self->png, self->info),
                        Orientation(bytes)};
  const bool interlaced =
      png_get_interlace_type(self->png, self->info) != PNG_INTERLACE_NONE;
  RETURN_IF_ERROR(CheckSize(name, size.height, size.width, interlaced));
  ASSIGN_OR_RETURN(const RowRange wanted, sink.Begin(size));
  std::vector<uint8_t> rgb(static_cast<size_t>(size.width * 3));
  if (interlaced) {
    const int64_t whole_bytes = size.height * size.width * 4;
    const std::unique_ptr<uint8_t[]> whole(
        new (std::nothrow) uint8_t[static_cast<size_t>(whole_bytes)]);
    if (whole == nullptr) {
      return ResourceExhausted(
          fmt::format("{}: no memory for {} bytes", name, whole_bytes));
    }
    return ReadInterlaced(self, size, wanted, whole.get(), rgb.data(), sink)
               ? OkStatus()
               : damaged();
  }
  std::vector<uint8_t> rgba(static_cast<size_t>(size.width * 4));
  return ReadRows(self, size.height, size.width, wanted, rgba.data(),
                  rgb.data(), sink)
             ? OkStatus()
             : damaged();
}

}  // namespace

Status DecodePng(std::string_view bytes, std::string_view name, RowSink& sink) {
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
  const Status status =
      decoder.info != nullptr
          ? DecodeRows(&decoder, bytes, name, sink)
          : ResourceExhausted(fmt::format("{}: libpng has no memory", name));
  png_destroy_read_struct(&decoder.png, &decoder.info, nullptr);
  return status;
}

}  // namespace densenet::image_codecs
