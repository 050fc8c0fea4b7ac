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
#include <optional>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "densenet/data/example_store.h"

namespace densenet {

// Per channel, of pixels scaled to [0, 1]. Training computes it once, from the
// training split; evaluation and prediction use what training used.
struct Normalization {
  std::vector<double> mean;
  std::vector<double> std;  // population deviation, > 0

  friend bool operator==(const Normalization&, const Normalization&) = default;
};

// Over `examples` of the data set; a channel that never varies gets std 1.
// Images in files are looked at in the size of the batches, and a fixed random
// sample of 1,024 of them has to do; those that cannot be read are passed over.
// Errors  InvalidArgument  no examples, or one outside the data set
//         DataLoss         not one of the sample can be read
StatusOr<Normalization> ComputeNormalization(const ExampleStore& store,
                                             absl::Span<const int64_t> examples,
                                             int64_t height = 0,
                                             int64_t width = 0);
StatusOr<Normalization> ComputeNormalization(const ExampleStore& store);

// What is usually given for photographs: that of ImageNet.
Normalization ImageNetNormalization();

// "dataset" (nothing: to be computed), "imagenet", or means and deviations of
// the channels as "0.5,0.5,0.5/0.2,0.2,0.2"; one of each stands for all.
// Errors  InvalidArgument
StatusOr<std::optional<Normalization>> ParseNormalization(std::string_view text,
                                                          int64_t channels);

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
  // The same, the last pixel first.
  void NormalizeMirrored(const uint8_t* pixels, int64_t count,
                         float* out) const;

 private:
  int64_t channels_ = 0;
  std::vector<float> values_;  // (C, 256)
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_NORMALIZATION_H_
