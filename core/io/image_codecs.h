// core/io/image_codecs.h
//
// What core/io/image.cc and core/io/image_cut.cc dispatch to: files as rows of
// pixels, in the order and the orientation in which they are stored. Not for
// others.
//
// Memory  rows and what the library needs; a progressive JPEG or an interlaced
//         PNG is held whole, 6 and 4 bytes a pixel

#ifndef DENSENET_CORE_IO_IMAGE_CODECS_H_
#define DENSENET_CORE_IO_IMAGE_CODECS_H_

#include <cstdint>
#include <string_view>

#include "core/status.h"

namespace densenet::image_codecs {

// Guards against a header that promises more than anybody has. Progressive
// JPEGs and interlaced PNGs, which are held whole, have a limit of their own.
inline constexpr int64_t kMaxPixels = int64_t{1} << 28;
inline constexpr int64_t kMaxHeldPixels = int64_t{1} << 26;

// An error for an image of more pixels; `held`: it must be held whole.
Status CheckSize(std::string_view name, int64_t height, int64_t width,
                 bool held);

// The EXIF orientation, 1 to 8, of a TIFF structure; 1 when there is none.
int ExifOrientation(std::string_view tiff);

struct StoredSize {
  int64_t height = 0;
  int64_t width = 0;
  int orientation = 1;  // how the stored image is to be turned
};

// The rows [begin, end) that are wanted of an image.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Receives an image: first its size, then the rows that it wants, in order.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Errors end the decoding.
  virtual StatusOr<RowRange> Begin(const StoredSize& size) = 0;
  // `rgb` (width, 3)
  virtual void Row(int64_t y, const uint8_t* rgb) = 0;
};

// Rows that are not wanted are decoded as far as it takes to see damage.
Status DecodeJpeg(std::string_view bytes, std::string_view name, RowSink& sink);
Status DecodePng(std::string_view bytes, std::string_view name, RowSink& sink);
// Whichever of the two it is.
Status Decode(std::string_view bytes, std::string_view name, RowSink& sink);

// How the shown image is found in the stored one, by EXIF orientation: the
// stored axes are swapped first, then those of the result run backwards.
struct Turn {
  bool transpose = false;
  bool flip_y = false;
  bool flip_x = false;
};
Turn TurnOf(int orientation);
// `stored` (height, width, 3) as it is to be seen; `shown` is another buffer.
void TurnPixels(const uint8_t* stored, int64_t height, int64_t width, Turn turn,
                uint8_t* shown);

}  // namespace densenet::image_codecs

#endif  // DENSENET_CORE_IO_IMAGE_CODECS_H_
