#include "densenet/data/photo_augment.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include "core/random.h"
#include "densenet/data/random_streams.h"

namespace densenet {
namespace {

constexpr uint64_t kAttempts = 10;
constexpr uint64_t kBlocksPerExample = 16;  // >= kAttempts
constexpr float kLargest = 255.0f;
// ITU-R BT.601, as ToGray().
constexpr float kLuma[3] = {0.299f, 0.587f, 0.114f};

// Of the colours of ImageNet's training images in [0, 1]: deviations along the
// principal components, and the components (one a column).
constexpr float kComponentDeviation[3] = {0.2175f, 0.0188f, 0.0045f};
constexpr float kComponents[3][3] = {{-0.5675f, 0.7192f, 0.4009f},
                                     {-0.5808f, -0.0045f, -0.8140f},
                                     {-0.5836f, -0.6948f, 0.4203f}};

RandomKey Key(uint64_t seed, int64_t epoch, uint32_t stream) {
  return {.seed = seed, .step = static_cast<uint32_t>(epoch), .stream = stream};
}

double Uniform(uint32_t bits, double low, double high) {
  return low + (high - low) * static_cast<double>(UniformFloat(bits));
}

// The middle, of the allowed shape nearest to the image's.
std::pair<int64_t, int64_t> LargestPart(const PhotoAugmentOptions& options,
                                        int64_t height, int64_t width) {
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  if (ratio < options.min_ratio) {
    height = std::clamp<int64_t>(
        std::llround(static_cast<double>(width) / options.min_ratio), 1,
        height);
  } else if (ratio > options.max_ratio) {
    width = std::clamp<int64_t>(
        std::llround(static_cast<double>(height) * options.max_ratio), 1,
        width);
  }
  return {height, width};
}

// Two independent standard normal numbers (Box and Muller).
void Normals(uint32_t a, uint32_t b, float* first, float* second) {
  const double radius =
      std::sqrt(-2.0 * std::log((static_cast<double>(a) + 1.0) / 4294967296.0));
  const double angle =
      2.0 * std::numbers::pi * static_cast<double>(b) / 4294967296.0;
  *first = static_cast<float>(radius * std::cos(angle));
  *second = static_cast<float>(radius * std::sin(angle));
}

// The planes of an image, (C, H * W), and the changes of colour on them.
class Planes {
 public:
  // `scratch` has one plane more: luma.
  Planes(int64_t channels, int64_t pixels, float* scratch)
      : channels_(channels), pixels_(pixels), data_(scratch) {}

  float* plane(int64_t c) { return data_ + c * pixels_; }

  void Read(const uint8_t* pixels) {
    for (int64_t c = 0; c < channels_; ++c) {
      float* to = plane(c);
      for (int64_t i = 0; i < pixels_; ++i) {
        to[i] = static_cast<float>(pixels[i * channels_ + c]);
      }
    }
  }

  void Change(ColorChange change, float factor) {
    switch (change) {
      case ColorChange::kBrightness:
        return Blend(factor, 0.0f);
      case ColorChange::kContrast:
        return Blend(factor, MeanLuma() * (1.0f - factor));
      case ColorChange::kSaturation:
        if (channels_ == 3) Saturate(factor);
        return;
    }
  }

 private:
  // x <- x * factor + offset
  void Blend(float factor, float offset) {
    for (int64_t i = 0; i < channels_ * pixels_; ++i) {
      data_[i] = std::min(std::max(data_[i] * factor + offset, 0.0f), kLargest);
    }
  }

  void Saturate(float factor) {
    const float* luma = Luma();
    for (int64_t c = 0; c < channels_; ++c) {
      float* x = plane(c);
      for (int64_t i = 0; i < pixels_; ++i) {
        x[i] =
            std::min(std::max(x[i] * factor + luma[i] * (1.0f - factor), 0.0f),
                     kLargest);
      }
    }
  }

  const float* Luma() {
    if (channels_ == 1) return data_;
    const float *r = plane(0), *g = plane(1), *b = plane(2);
    float* luma = plane(channels_);
    for (int64_t i = 0; i < pixels_; ++i) {
      luma[i] = r[i] * kLuma[0] + g[i] * kLuma[1] + b[i] * kLuma[2];
    }
    return luma;
  }

  float MeanLuma() {
    const float* luma = Luma();
    // Side by side, so that sums are added without waiting for one another.
    double sums[8] = {};
    int64_t i = 0;
    for (; i + 8 <= pixels_; i += 8) {
      for (int64_t k = 0; k < 8; ++k) sums[k] += luma[i + k];
    }
    for (; i < pixels_; ++i) sums[0] += luma[i];
    double sum = 0;
    for (double part : sums) sum += part;
    return static_cast<float>(sum / static_cast<double>(pixels_));
  }

  int64_t channels_;
  int64_t pixels_;
  float* data_;
};

}  // namespace

Status ValidatePhotoAugment(const PhotoAugmentOptions& o) {
  if (!(0 < o.min_area && o.min_area <= o.max_area && o.max_area <= 1)) {
    return InvalidArgument(
        fmt::format("augmentation: a part of {} to {} of the area: expected "
                    "0 < smallest <= largest <= 1",
                    o.min_area, o.max_area));
  }
  if (!(0 < o.min_ratio && o.min_ratio <= o.max_ratio &&
        std::isfinite(o.max_ratio))) {
    return InvalidArgument(fmt::format(
        "augmentation: width to height of {} to {}: expected 0 < smallest <= "
        "largest",
        o.min_ratio, o.max_ratio));
  }
  if (!(0 <= o.jitter && o.jitter <= 1) ||
      !(0 <= o.lighting && o.lighting <= 1)) {
    return InvalidArgument(
        fmt::format("augmentation: jitter {}, lighting {}: expected 0 to 1",
                    o.jitter, o.lighting));
  }
  return OkStatus();
}

ImageCut DrawPhotoCut(const PhotoAugmentOptions& options, uint64_t seed,
                      int64_t epoch, int64_t example, int64_t image_height,
                      int64_t image_width, int64_t height, int64_t width) {
  CHECK(image_height > 0 && image_width > 0);
  const RandomKey key = Key(seed, epoch, kPhotoCutStream);
  const double area =
      static_cast<double>(image_height) * static_cast<double>(image_width);
  int64_t top = 0, left = 0, h = 0, w = 0;
  for (uint64_t attempt = 0; attempt < kAttempts && h == 0; ++attempt) {
    const Philox4 bits = RandomBlock(
        key, static_cast<uint64_t>(example) * kBlocksPerExample + attempt);
    const double part =
        area * Uniform(bits.v[0], options.min_area, options.max_area);
    // The logarithm is uniform, so that wide is as likely as high.
    const double ratio = std::exp(Uniform(
        bits.v[1], std::log(options.min_ratio), std::log(options.max_ratio)));
    const int64_t part_width = std::llround(std::sqrt(part * ratio));
    const int64_t part_height = std::llround(std::sqrt(part / ratio));
    if (part_width < 1 || part_width > image_width || part_height < 1 ||
        part_height > image_height) {
      continue;
    }
    h = part_height;
    w = part_width;
    top = UniformInt(bits.v[2], static_cast<uint32_t>(image_height - h + 1));
    left = UniformInt(bits.v[3], static_cast<uint32_t>(image_width - w + 1));
  }
  if (h == 0) {
    std::tie(h, w) = LargestPart(options, image_height, image_width);
    top = (image_height - h) / 2;
    left = (image_width - w) / 2;
  }
  return {{top, h, height, 0, height}, {left, w, width, 0, width}};
}

PhotoColors DrawPhotoColors(const PhotoAugmentOptions& options, uint64_t seed,
                            int64_t epoch, int64_t example) {
  const RandomKey key = Key(seed, epoch, kPhotoColorStream);
  const uint64_t block = static_cast<uint64_t>(example) * kBlocksPerExample;
  const Philox4 first = RandomBlock(key, block);
  const Philox4 second = RandomBlock(key, block + 1);
  const Philox4 third = RandomBlock(key, block + 2);
  PhotoColors colors;
  for (int i = 0; i < 3; ++i) {
    colors.factors[i] = static_cast<float>(
        Uniform(first.v[i], 1.0 - options.jitter, 1.0 + options.jitter));
  }
  colors.mirror = options.mirror && UniformInt(first.v[3], 2) == 1;
  std::swap(colors.order[2], colors.order[UniformInt(second.v[0], 3)]);
  std::swap(colors.order[1], colors.order[UniformInt(second.v[1], 2)]);
  float normals[4];
  Normals(third.v[0], third.v[1], &normals[0], &normals[1]);
  Normals(third.v[2], third.v[3], &normals[2], &normals[3]);
  for (int c = 0; c < 3; ++c) {
    for (int k = 0; k < 3; ++k) {
      colors.shift[c] += kComponents[c][k] * options.lighting * normals[k] *
                         kComponentDeviation[k];
    }
  }
  return colors;
}

void ApplyPhotoColors(const PhotoColors& colors,
                      const Normalization& normalization, const uint8_t* pixels,
                      int64_t height, int64_t width, float* scratch,
                      float* out) {
  const auto channels = static_cast<int64_t>(normalization.mean.size());
  CHECK(channels == 1 || channels == 3);
  Planes planes(channels, height * width, scratch);
  planes.Read(pixels);
  for (int i = 0; i < 3; ++i) {
    planes.Change(colors.order[i], colors.factors[i]);
  }
  for (int64_t c = 0; c < channels; ++c) {
    const auto at = static_cast<size_t>(c);
    const double shift = channels == 3 ? colors.shift[c] : 0.0f;
    const auto scale =
        static_cast<float>(1.0 / (kLargest * normalization.std[at]));
    const auto offset = static_cast<float>((shift - normalization.mean[at]) /
                                           normalization.std[at]);
    const float* from = planes.plane(c);
    for (int64_t y = 0; y < height; ++y, from += width) {
      float* row = out + y * width * channels + c;
      if (colors.mirror) {
        for (int64_t x = 0; x < width; ++x) {
          row[x * channels] = from[width - 1 - x] * scale + offset;
        }
      } else {
        for (int64_t x = 0; x < width; ++x) {
          row[x * channels] = from[x] * scale + offset;
        }
      }
    }
  }
}

}  // namespace densenet
