// Nothing that needs a destructor lives in a frame that libjpeg jumps over:
// every phase is a function of plain values that sets its own mark.

#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>

// After <cstdio>: they use FILE without declaring it.
#include <jerror.h>
#include <jpeglib.h>

#include "core/io/image_codecs.h"

namespace densenet::image_codecs {
namespace {

struct Decoder {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  std::jmp_buf mark;
  char message[JMSG_LENGTH_MAX];
  bool damaged;
};

Decoder* Self(j_common_ptr jpeg) {
  return static_cast<Decoder*>(jpeg->client_data);
}

[[noreturn]] void OnError(j_common_ptr jpeg) {
  Decoder* self = Self(jpeg);
  jpeg->err->format_message(jpeg, self->message);
  std::longjmp(self->mark, 1);
}

// Harmless oddities that cameras and editors write.
bool IsHarmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_JFIF_MAJOR ||
         warning == JWRN_ADOBE_XFORM || warning == JWRN_TOO_MUCH_DATA;
}

// libjpeg warns of data that is missing and makes up the rest; that is an
// error to us.
void OnMessage(j_common_ptr jpeg, int level) {
  Decoder* self = Self(jpeg);
  if (level >= 0 || IsHarmless(jpeg->err->msg_code) || self->damaged) return;
  jpeg->err->format_message(jpeg, self->message);
  self->damaged = true;
}

void Discard(j_common_ptr) {}

bool ReadHeader(Decoder* self, const unsigned char* bytes, size_t size) {
  jpeg_decompress_struct& jpeg = self->jpeg;
  if (setjmp(self->mark) != 0) return false;
  jpeg_mem_src(&jpeg, bytes, size);
  jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xffff);  // EXIF
  jpeg_read_header(&jpeg, TRUE);
  const bool cmyk =
      jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  return true;
}

// Adobe stores ink inverted: 255 is none.
void CmykRowToRgb(const unsigned char* cmyk, int64_t width, bool inverted,
                  unsigned char* rgb) {
  const int flip = inverted ? 0 : 255;
  for (int64_t x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const int black = cmyk[3] ^ flip;
    for (int c = 0; c < 3; ++c) {
      rgb[c] =
          static_cast<unsigned char>(((cmyk[c] ^ flip) * black + 127) / 255);
    }
  }
}

// `cmyk_row` has 4 bytes a pixel.
bool ReadPixels(Decoder* self, unsigned char* pixels, unsigned char* cmyk_row) {
  jpeg_decompress_struct& jpeg = self->jpeg;
  if (setjmp(self->mark) != 0) return false;
  jpeg_start_decompress(&jpeg);
  const int64_t row_bytes = int64_t{jpeg.output_width} * 3;
  const bool cmyk = jpeg.out_color_space == JCS_CMYK;
  while (jpeg.output_scanline < jpeg.output_height) {
    unsigned char* row = pixels + jpeg.output_scanline * row_bytes;
    JSAMPROW target = cmyk ? cmyk_row : row;
    jpeg_read_scanlines(&jpeg, &target, 1);
    if (cmyk) {
      CmykRowToRgb(cmyk_row, jpeg.output_width, jpeg.saw_Adobe_marker != FALSE,
                   row);
    }
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

int Orientation(const jpeg_decompress_struct& jpeg) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  for (const jpeg_marker_struct* m = jpeg.marker_list; m != nullptr;
       m = m->next) {
    const std::string_view data(reinterpret_cast<const char*>(m->data),
                                m->data_length);
    if (data.starts_with(kExif)) {
      return ExifOrientation(data.substr(kExif.size()));
    }
  }
  return 1;
}

StatusOr<Stored> Decode(Decoder* self, std::string_view bytes,
                        std::string_view name) {
  const auto damaged = [&] {
    return DataLoss(fmt::format("{}: damaged JPEG: {}", name, self->message));
  };
  jpeg_decompress_struct& jpeg = self->jpeg;
  if (!ReadHeader(self, reinterpret_cast<const unsigned char*>(bytes.data()),
                  bytes.size())) {
    return damaged();
  }
  Stored stored;
  stored.orientation = Orientation(jpeg);
  stored.image.height = jpeg.image_height;
  stored.image.width = jpeg.image_width;
  const int64_t count = stored.image.height * stored.image.width;
  if (count > kMaxPixels) {
    return TooLarge(name, stored.image.height, stored.image.width);
  }
  stored.image.pixels.resize(static_cast<size_t>(count * 3));
  std::vector<unsigned char> cmyk_row(
      jpeg.out_color_space == JCS_CMYK
          ? static_cast<size_t>(stored.image.width * 4)
          : 0);
  if (!ReadPixels(self, stored.image.pixels.data(), cmyk_row.data()) ||
      self->damaged) {
    return damaged();
  }
  return stored;
}

}  // namespace

StatusOr<Stored> DecodeJpeg(std::string_view bytes, std::string_view name) {
  Decoder decoder;
  std::memset(&decoder, 0, sizeof(decoder));
  decoder.jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = OnError;
  decoder.errors.emit_message = OnMessage;
  decoder.errors.output_message = Discard;
  // It can fail for want of memory alone, and then has nothing to free.
  if (setjmp(decoder.mark) != 0) {
    return ResourceExhausted(fmt::format("{}: {}", name, decoder.message));
  }
  // OnError finds the decoder here, also while it is being created.
  decoder.jpeg.client_data = &decoder;
  jpeg_create_decompress(&decoder.jpeg);
  StatusOr<Stored> stored = Decode(&decoder, bytes, name);
  jpeg_destroy_decompress(&decoder.jpeg);
  return stored;
}

}  // namespace densenet::image_codecs
