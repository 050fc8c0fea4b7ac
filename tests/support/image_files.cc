#include "tests/support/image_files.h"

#include <glog/logging.h>
#include <png.h>

#include <cstdio>
#include <cstdlib>

// After <cstdio>: it uses FILE without declaring it.
#include <jpeglib.h>

namespace densenet::testing {

std::string ExifTiff(int orientation, bool little_endian) {
  std::string tiff = little_endian ? "II" : "MM";
  const auto put = [&](uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int byte = little_endian ? i : bytes - 1 - i;
      tiff += static_cast<char>(value >> (8 * byte));
    }
  };
  put(42, 2);
  put(8, 4);       // the directory
  put(2, 2);       // its entries
  put(0x010f, 2);  // maker: text
  put(2, 2);
  put(4, 4);
  put(0, 4);
  put(0x0112, 2);  // orientation: one short
  put(3, 2);
  put(1, 4);
  put(static_cast<uint32_t>(orientation), 2);
  put(0, 2);
  put(0, 4);  // no further directory
  return tiff;
}

std::string EncodeJpeg(const std::vector<uint8_t>& pixels, int height,
                       int width, const JpegOptions& options) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT: libjpeg's type
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = width;
  jpeg.image_height = height;
  jpeg.input_components = options.channels;
  jpeg.in_color_space = options.channels == 1   ? JCS_GRAYSCALE
                        : options.channels == 3 ? JCS_RGB
                                                : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  for (int c = 0; c < jpeg.num_components; ++c) {
    jpeg.comp_info[c].h_samp_factor = jpeg.comp_info[c].v_samp_factor = 1;
  }
  if (options.channels == 4 && !options.adobe) {
    jpeg.write_Adobe_marker = FALSE;
  }
  if (options.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  if (!options.tiff.empty()) {
    const std::string marker = std::string("Exif\0\0", 6) + options.tiff;
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1,
                      reinterpret_cast<const JOCTET*>(marker.data()),
                      static_cast<unsigned>(marker.size()));
  }
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPLE*>(
        &pixels[size_t{jpeg.next_scanline} * width * options.channels]);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string file(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return file;
}

std::string EncodePng(const std::vector<uint8_t>& rows, int height, int width,
                      const PngOptions& options) {
  std::string file;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  CHECK(png != nullptr && info != nullptr);
  CHECK_EQ(setjmp(png_jmpbuf(png)), 0);
  png_set_write_fn(
      png, &file,
      [](png_structp p, png_bytep data, size_t size) {
        static_cast<std::string*>(png_get_io_ptr(p))
            ->append(reinterpret_cast<char*>(data), size);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, width, height, options.bit_depth, options.color_type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!options.palette.empty()) {
    std::vector<png_color> colors;
    for (size_t i = 0; i < options.palette.size(); i += 3) {
      colors.push_back(
          {options.palette[i], options.palette[i + 1], options.palette[i + 2]});
    }
    png_set_PLTE(png, info, colors.data(), static_cast<int>(colors.size()));
  }
  if (!options.palette_alpha.empty()) {
    png_set_tRNS(png, info, options.palette_alpha.data(),
                 static_cast<int>(options.palette_alpha.size()), nullptr);
  }
  std::string tiff = options.tiff;
  if (!tiff.empty()) {
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(tiff.size()),
                   reinterpret_cast<png_bytep>(tiff.data()));
  }
  std::vector<png_bytep> pointers;
  for (int y = 0; y < height; ++y) {
    pointers.push_back(const_cast<png_bytep>(&rows[rows.size() / height * y]));
  }
  png_set_rows(png, info, pointers.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

}  // namespace densenet::testing
