// densenet/data/normalization.h
//
// Channel-wise normalization of uint8 images: (pixel / 255 - mean) / std. The
// images stay as they are; each pixel is looked up as it enters a batch.
//
// Numerics  mean and deviation from exact integer sums, rounded once to
//           float64; a normalized pixel is the float64 result rounded once
// Threads   safe

#ifndef DENSENET_DENSENET_DATA_NORMALIZATION_H_
#define DENSENET_DENSENET_DATA_NORMALIZATION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "densenet/data/dataset.h"

namespace densenet {

// Per channel, of pixels scaled to [0, 1]. Training computes it once, from the
// training split; evaluation and prediction use what training used.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> std;  // population deviation, > 0

  friend bool operator==(const Normalization&, const Normalization&) = default;
};

// Over `examples` of the data set; a channel that never varies gets std 1.
// Errors  InvalidArgument  no examples, or one outside the data set
StatusOr<Normalization> ComputeNormalization(
    const Dataset& dataset, absl::Span<const int64_t> examples);
StatusOr<Normalization> ComputeNormalization(const Dataset& dataset);

// The normalized value of every pixel value of every channel.
class PixelTable {
 public:
  // Errors  InvalidArgument  mean and std differ in length or are empty; a
  //                          value is not finite; a std is not positive
  static StatusOr<PixelTable> Create(const Normalization& normalization);

  int64_t channels() const { return channels_; }
  // Indexed by pixel value.
  const float* channel(int64_t c) const { return values_.data() + c * 256; }
  // `pixels` (count, C) -> `out` (count, C)
  void Normalize(const uint8_t* pixels, int64_t count, float* out) const;

 private:
  int64_t channels_ = 0;
  std::vector<float> values_;  // (C, 256)
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_NORMALIZATION_H_
