// tests/support/image_files.h
//
// Encodes small images, so that tests need no files.

#ifndef DENSENET_TESTS_SUPPORT_IMAGE_FILES_H_
#define DENSENET_TESTS_SUPPORT_IMAGE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace densenet::testing {

// The TIFF structure of EXIF that says how an image is turned.
std::string ExifTiff(int orientation, bool little_endian);

struct JpegOptions {
  int channels = 3;  // 1: gray, 3: RGB, 4: CMYK as Adobe stores it (inverted)
  bool adobe = true;
  bool progressive = false;
  std::string tiff;  // of an EXIF marker; "": none
};
// Quality 100, no chroma subsampling. `pixels` (height, width, channels).
std::string EncodeJpeg(const std::vector<uint8_t>& pixels, int height,
                       int width, const JpegOptions& options);

struct PngOptions {
  int color_type = 2;  // PNG_COLOR_TYPE_RGB
  int bit_depth = 8;
  bool interlaced = false;
  std::vector<uint8_t> palette;        // RGB triples
  std::vector<uint8_t> palette_alpha;  // of the first entries
  std::string tiff;                    // of an eXIf chunk; "": none
};
// `rows` as PNG stores them: height rows of equal length, big-endian samples.
std::string EncodePng(const std::vector<uint8_t>& rows, int height, int width,
                      const PngOptions& options);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_IMAGE_FILES_H_
