#include "densenet/data/augment.h"

#include <algorithm>

#include "core/random.h"
#include "densenet/data/random_streams.h"

namespace densenet {

Augmentation DrawAugmentation(const AugmentOptions& options, uint64_t seed,
                              int64_t epoch, int64_t example) {
  const RandomKey key = {.seed = seed,
                         .step = static_cast<uint32_t>(epoch),
                         .stream = kAugmentStream};
  const Philox4 bits = RandomBlock(key, static_cast<uint64_t>(example));
  const auto positions = static_cast<uint32_t>(2 * options.pad + 1);
  return {.top = UniformInt(bits.v[0], positions),
          .left = UniformInt(bits.v[1], positions),
          .mirror = options.mirror && UniformInt(bits.v[2], 2) == 1};
}

void AugmentImage(const PixelTable& table, const uint8_t* image, int64_t height,
                  int64_t width, int64_t pad, const Augmentation& augmentation,
                  float* out) {
  const int64_t channels = table.channels();
  const int64_t row_elems = width * channels;
  // Window column x shows image column x + shift; those in [begin, end) exist.
  const int64_t shift = augmentation.left - pad;
  const int64_t begin = std::clamp<int64_t>(-shift, 0, width);
  const int64_t end = std::clamp<int64_t>(width - shift, begin, width);
  for (int64_t y = 0; y < height; ++y, out += row_elems) {
    const int64_t source_y = y + augmentation.top - pad;
    if (source_y < 0 || source_y >= height || begin == end) {
      std::fill(out, out + row_elems, 0.0f);
      continue;
    }
    const uint8_t* row = image + source_y * row_elems;
    // Zeros on both sides of what the image has.
    const int64_t first = augmentation.mirror ? width - end : begin;
    const int64_t last = first + end - begin;
    std::fill(out, out + first * channels, 0.0f);
    const uint8_t* pixels = row + (begin + shift) * channels;
    if (augmentation.mirror) {
      table.NormalizeMirrored(pixels, end - begin, out + first * channels);
    } else {
      table.Normalize(pixels, end - begin, out + first * channels);
    }
    std::fill(out + last * channels, out + row_elems, 0.0f);
  }
}

}  // namespace densenet
