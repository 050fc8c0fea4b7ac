// Nothing that needs a destructor lives in a frame that libjpeg jumps over:
// every phase is a function of plain values that sets its own mark.

#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

// After <cstdio>: they use FILE without declaring it.
#include <jerror.h>
#include <jpeglib.h>

#include "core/io/image_codecs.h"

namespace densenet::image_codecs {
namespace {

struct Decoder {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf mark;
  char message[JMSG_LENGTH_MAX];
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
  if (level < 0 && !IsHarmless(jpeg->err->msg_code)) OnError(jpeg);
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

// A file of a few kB can ask for thousands of passes over all its pixels; no
// encoder writes a hundred, nor thirty of the largest image.
constexpr int64_t kMaxScans = 200;
constexpr int64_t kMaxScannedPixels = 32 * kMaxHeldPixels;

void OnProgress(j_common_ptr common) {
  auto* jpeg = reinterpret_cast<j_decompress_ptr>(common);
  const int64_t pixels = int64_t{jpeg->image_height} * jpeg->image_width;
  const int64_t most = std::min(kMaxScans, kMaxScannedPixels / pixels);
  if (jpeg->input_scan_number <= most) return;
  Decoder* self = Self(common);
  std::snprintf(self->message, sizeof(self->message), "more than %d scans",
                static_cast<int>(most));
  std::longjmp(self->mark, 1);
}

// Passes over the rows up to `row`: their data is looked at, but they are not
// made into pixels.
void SkipTo(jpeg_decompress_struct& jpeg, int64_t row) {
  if (row > jpeg.output_scanline) {
    jpeg_skip_scanlines(&jpeg,
                        static_cast<JDIMENSION>(row) - jpeg.output_scanline);
  }
}

// `rgb_row` has 3, `cmyk_row` 4 bytes a pixel.
bool ReadPixels(Decoder* self, RowRange wanted, unsigned char* rgb_row,
                unsigned char* cmyk_row, RowSink& sink) {
  jpeg_decompress_struct& jpeg = self->jpeg;
  if (setjmp(self->mark) != 0) return false;
  jpeg_start_decompress(&jpeg);
  const bool cmyk = jpeg.out_color_space == JCS_CMYK;
  SkipTo(jpeg, wanted.begin);
  while (jpeg.output_scanline < wanted.end) {
    const int64_t y = jpeg.output_scanline;
    JSAMPROW target = cmyk ? cmyk_row : rgb_row;
    jpeg_read_scanlines(&jpeg, &target, 1);
    if (cmyk) {
      CmykRowToRgb(cmyk_row, jpeg.output_width, jpeg.saw_Adobe_marker != FALSE,
                   rgb_row);
    }
    sink.Row(y, rgb_row);
  }
  // A skip that reaches the end does not look at the data before it: the last
  // row is read.
  if (jpeg.output_scanline < jpeg.output_height) {
    SkipTo(jpeg, jpeg.output_height - 1);
    JSAMPROW target = cmyk ? cmyk_row : rgb_row;
    jpeg_read_scanlines(&jpeg, &target, 1);
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

Status DecodeRows(Decoder* self, std::string_view bytes, std::string_view name,
                  RowSink& sink) {
  const auto damaged = [&] {
    if (self->errors.msg_code == JERR_OUT_OF_MEMORY) {
      return ResourceExhausted(fmt::format("{}: {}", name, self->message));
    }
    return DataLoss(fmt::format("{}: damaged JPEG: {}", name, self->message));
  };
  jpeg_decompress_struct& jpeg = self->jpeg;
  if (!ReadHeader(self, reinterpret_cast<const unsigned char*>(bytes.data()),
                  bytes.size())) {
    return damaged();
  }
  const StoredSize size{jpeg.image_height, jpeg.image_width, Orientation(jpeg)};
  RETURN_IF_ERROR(CheckSize(name, size.height, size.width,
                            jpeg_has_multiple_scans(&jpeg) != FALSE));
  ASSIGN_OR_RETURN(const RowRange wanted, sink.Begin(size));
  const bool cmyk = jpeg.out_color_space == JCS_CMYK;
  std::vector<unsigned char> row(static_cast<size_t>(size.width * 3));
  std::vector<unsigned char> cmyk_row(cmyk ? static_cast<size_t>(size.width * 4)
                                           : 0);
  if (!ReadPixels(self, wanted, row.data(), cmyk_row.data(), sink)) {
    return damaged();
  }
  return OkStatus();
}

}  // namespace

Status DecodeJpeg(std::string_view bytes, std::string_view name,
                  RowSink& sink) {
  Decoder decoder;
  std::memset(&decoder, 0, sizeof(decoder));
  decoder.jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = OnError;
  decoder.errors.emit_message = OnMessage;
  decoder.errors.output_message = Discard;
  decoder.progress.progress_monitor = OnProgress;
  // It can fail for want of memory alone, and then has nothing to free.
  if (setjmp(decoder.mark) != 0) {
    return ResourceExhausted(fmt::format("{}: {}", name, decoder.message));
  }
  // OnError finds the decoder here, also while it is being created.
  decoder.jpeg.client_data = &decoder;
  jpeg_create_decompress(&decoder.jpeg);
  decoder.jpeg.progress = &decoder.progress;
  const Status status = DecodeRows(&decoder, bytes, name, sink);
  jpeg_destroy_decompress(&decoder.jpeg);
  return status;
}

}  // namespace densenet::image_codecs
