#include "core/io/image_resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace densenet {
namespace {

constexpr int64_t kChannels = 3;
constexpr int kWeightBits = 22;  // 8 bits of pixel and a sign beside it
constexpr int64_t kMaxPixels = int64_t{1} << 28;

// The input pixels that one output pixel is the weighted sum of.
struct Window {
  int64_t begin;
  std::vector<int32_t> weights;  // sum about 2^kWeightBits
};

std::vector<Window> Windows(int64_t in, int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double radius = std::max(scale, 1.0);
  std::vector<Window> windows;
  std::vector<double> weights;
  for (int64_t i = 0; i < out; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto begin =
        std::max<int64_t>(static_cast<int64_t>(center - radius + 0.5), 0);
    const auto end =
        std::min<int64_t>(static_cast<int64_t>(center + radius + 0.5), in);
    weights.clear();
    double sum = 0;
    for (int64_t x = begin; x < end; ++x) {
      const double distance =
          std::abs((static_cast<double>(x) - center + 0.5) / radius);
      weights.push_back(std::max(1.0 - distance, 0.0));
      sum += weights.back();
    }
    Window window{.begin = begin, .weights = {}};
    for (double weight : weights) {
      window.weights.push_back(
          static_cast<int32_t>(weight / sum * (1 << kWeightBits) + 0.5));
    }
    windows.push_back(std::move(window));
  }
  return windows;
}

uint8_t Round(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

Image ResizeRows(const Image& image, int64_t width) {
  Image out{.height = image.height, .width = width, .pixels = {}};
  out.pixels.resize(image.height * width * kChannels);
  const std::vector<Window> windows = Windows(image.width, width);
  uint8_t* p = out.pixels.data();
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t* row = image.pixels.data() + y * image.width * kChannels;
    for (const Window& window : windows) {
      int32_t sums[kChannels] = {kHalf, kHalf, kHalf};
      const uint8_t* in = row + window.begin * kChannels;
      for (int32_t weight : window.weights) {
        for (int32_t& sum : sums) sum += weight * *in++;
      }
      for (int32_t sum : sums) *p++ = Round(sum);
    }
  }
  return out;
}

Image ResizeColumns(const Image& image, int64_t height) {
  const int64_t row_bytes = image.width * kChannels;
  Image out{.height = height, .width = image.width, .pixels = {}};
  out.pixels.resize(height * row_bytes);
  std::vector<int32_t> sums(row_bytes);
  uint8_t* p = out.pixels.data();
  for (const Window& window : Windows(image.height, height)) {
    std::fill(sums.begin(), sums.end(), kHalf);
    const uint8_t* in = image.pixels.data() + window.begin * row_bytes;
    for (int32_t weight : window.weights) {
      for (int32_t& sum : sums) sum += weight * *in++;
    }
    for (int32_t sum : sums) *p++ = Round(sum);
  }
  return out;
}

}  // namespace

StatusOr<Image> ResizeBilinear(const Image& image, int64_t height,
                               int64_t width) {
  if (image.height < 1 || image.width < 1 || height < 1 || width < 1 ||
      height > kMaxPixels / width) {
    return InvalidArgument(
        fmt::format("resize {}x{} to {}x{}: expected at least one pixel and "
                    "at most {}",
                    image.height, image.width, height, width, kMaxPixels));
  }
  if (width == image.width && height == image.height) return image;
  if (width == image.width) return ResizeColumns(image, height);
  Image rows = ResizeRows(image, width);
  if (height == image.height) return rows;
  return ResizeColumns(rows, height);
}

StatusOr<Image> CenterCrop(const Image& image, int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > image.height || width > image.width) {
    return InvalidArgument(fmt::format("cut {}x{} out of {}x{}", height, width,
                                       image.height, image.width));
  }
  const int64_t top = (image.height - height) / 2;
  const int64_t left = (image.width - width) / 2;
  Image out{.height = height, .width = width, .pixels = {}};
  out.pixels.reserve(height * width * kChannels);
  for (int64_t y = top; y < top + height; ++y) {
    const auto row =
        image.pixels.begin() + (y * image.width + left) * kChannels;
    out.pixels.insert(out.pixels.end(), row, row + width * kChannels);
  }
  return out;
}

StatusOr<Image> ResizeAndCenterCrop(const Image& image, int64_t height,
                                    int64_t width) {
  if (image.height < 1 || image.width < 1) {
    return InvalidArgument("resize: the image is empty");
  }
  const double scale =
      std::max(static_cast<double>(height) / static_cast<double>(image.height),
               static_cast<double>(width) / static_cast<double>(image.width));
  const auto scaled = [&](int64_t side, int64_t least) {
    return std::max<int64_t>(std::llround(static_cast<double>(side) * scale),
                             least);
  };
  ASSIGN_OR_RETURN(const Image covering,
                   ResizeBilinear(image, scaled(image.height, height),
                                  scaled(image.width, width)));
  return CenterCrop(covering, height, width);
}

}  // namespace densenet
