#include "core/io/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/io/file.h"
#include "core/io/image_codecs.h"

namespace densenet {
namespace image_codecs {

Status CheckSize(std::string_view name, int64_t height, int64_t width,
                 bool held) {
  const int64_t most = held ? kMaxHeldPixels : kMaxPixels;
  if (height * width <= most) return OkStatus();
  return InvalidArgument(fmt::format(
      "{}: {}x{} pixels, at most {} in all are decoded{}", name, height, width,
      most, held ? " of a progressive or interlaced image" : ""));
}

int ExifOrientation(std::string_view tiff) {
  constexpr uint32_t kOrientationTag = 0x0112;
  constexpr uint32_t kShort = 3;
  constexpr size_t kEntryBytes = 12;
  if (tiff.size() < 8) return 1;
  const bool little = tiff.substr(0, 2) == "II";
  if (!little && tiff.substr(0, 2) != "MM") return 1;
  const auto read = [&](size_t at, size_t bytes) {
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      const size_t byte = at + (little ? bytes - 1 - i : i);
      value = value << 8 | static_cast<uint8_t>(tiff[byte]);
    }
    return value;
  };
  const size_t directory = read(4, 4);
  if (directory > tiff.size() - 2) return 1;
  const size_t entries = read(directory, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = directory + 2 + i * kEntryBytes;
    if (at + kEntryBytes > tiff.size()) return 1;
    if (read(at, 2) != kOrientationTag || read(at + 2, 2) != kShort) continue;
    const uint32_t orientation = read(at + 8, 2);
    return 1 <= orientation && orientation <= 8 ? static_cast<int>(orientation)
                                                : 1;
  }
  return 1;
}

Turn TurnOf(int orientation) {
  constexpr Turn kTurns[] = {
      {false, false, false},  // 1
      {false, false, true},   // 2: mirrored
      {false, true, true},    // 3: by 180 degrees
      {false, true, false},   // 4
      {true, false, false},   // 5
      {true, false, true},    // 6: by 90 degrees clockwise
      {true, true, true},     // 7
      {true, true, false},    // 8: by 90 degrees counter-clockwise
  };
  return kTurns[orientation - 1];
}

void TurnPixels(const uint8_t* stored, int64_t height, int64_t width, Turn turn,
                uint8_t* shown) {
  const int64_t shown_height = turn.transpose ? width : height;
  const int64_t shown_width = turn.transpose ? height : width;
  for (int64_t y = 0; y < shown_height; ++y) {
    for (int64_t x = 0; x < shown_width; ++x, shown += 3) {
      int64_t row = turn.flip_y ? shown_height - 1 - y : y;
      int64_t column = turn.flip_x ? shown_width - 1 - x : x;
      if (turn.transpose) std::swap(row, column);
      const uint8_t* in = stored + 3 * (row * width + column);
      std::copy(in, in + 3, shown);
    }
  }
}

Status Decode(std::string_view bytes, std::string_view name, RowSink& sink) {
  if (bytes.starts_with("\xff\xd8\xff")) return DecodeJpeg(bytes, name, sink);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) {
    return DecodePng(bytes, name, sink);
  }
  return InvalidArgument(
      fmt::format("{}: {}, expected a JPEG or PNG image", name,
                  bytes.empty()               ? "an empty file"
                  : bytes.starts_with("GIF8") ? "a GIF image"
                  : bytes.starts_with("RIFF") ? "a RIFF (WebP?) file"
                  : bytes.starts_with("BM")   ? "a BMP image"
                                              : "an unknown format"));
}

}  // namespace image_codecs

namespace {

// Keeps everything.
class WholeImage final : public image_codecs::RowSink {
 public:
  StatusOr<image_codecs::RowRange> Begin(
      const image_codecs::StoredSize& size) override {
    image_.height = size.height;
    image_.width = size.width;
    orientation_ = size.orientation;
    image_.pixels.resize(static_cast<size_t>(size.height * size.width * 3));
    return image_codecs::RowRange{0, size.height};
  }
  void Row(int64_t y, const uint8_t* rgb) override {
    std::copy(rgb, rgb + image_.width * 3,
              image_.pixels.begin() + y * image_.width * 3);
  }
  Image Shown() && {
    if (orientation_ == 1) return std::move(image_);
    const image_codecs::Turn turn = image_codecs::TurnOf(orientation_);
    Image shown{.height = turn.transpose ? image_.width : image_.height,
                .width = turn.transpose ? image_.height : image_.width,
                .pixels = std::vector<uint8_t>(image_.pixels.size())};
    image_codecs::TurnPixels(image_.pixels.data(), image_.height, image_.width,
                             turn, shown.pixels.data());
    return shown;
  }

 private:
  Image image_;
  int orientation_ = 1;
};

}  // namespace

StatusOr<Image> DecodeImage(std::string_view bytes, std::string_view name) {
  WholeImage image;
  RETURN_IF_ERROR(image_codecs::Decode(bytes, name, image));
  return std::move(image).Shown();
}

StatusOr<Image> ReadImage(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxImageFileBytes));
  return DecodeImage(bytes, path);
}

std::vector<uint8_t> ToGray(const Image& image) {
  // 0.299, 0.587 and 0.114 of 2^16; they add up to it.
  constexpr uint32_t kRed = 19595, kGreen = 38470, kBlue = 7471;
  std::vector<uint8_t> gray(image.pixels.size() / 3);
  const uint8_t* p = image.pixels.data();
  for (uint8_t& value : gray) {
    const uint32_t sum = p[0] * kRed + p[1] * kGreen + p[2] * kBlue;
    value = static_cast<uint8_t>((sum + (1u << 15)) >> 16);
    p += 3;
  }
  return gray;
}

}  // namespace densenet
