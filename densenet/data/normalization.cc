#include "densenet/data/normalization.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>

namespace densenet {
namespace {

constexpr double kScale = 255.0;

// How often each pixel value occurs in a channel.
using Histogram = std::array<int64_t, 256>;

// Rounds the exact quotients once each.
void Summarize(const Histogram& histogram, double* mean, double* deviation) {
  __extension__ using Exact = unsigned __int128;
  Exact count = 0, sum = 0, squares = 0;
  for (uint64_t v = 0; v < histogram.size(); ++v) {
    const Exact n = static_cast<uint64_t>(histogram[v]);
    count += n;
    sum += n * v;
    squares += n * v * v;
  }
  const double n = static_cast<double>(count);
  *mean = static_cast<double>(sum) / n / kScale;
  // Without cancellation: count * squares >= sum^2 in integers.
  const double spread = static_cast<double>(count * squares - sum * sum);
  *deviation = spread == 0.0 ? 1.0 : std::sqrt(spread) / n / kScale;
}

}  // namespace

StatusOr<Normalization> ComputeNormalization(
    const Dataset& dataset, absl::Span<const int64_t> examples) {
  if (examples.empty()) {
    return InvalidArgument("normalization: there are no examples");
  }
  const int64_t channels = dataset.info.channels;
  const int64_t elems = dataset.info.image_elems();
  std::vector<Histogram> histograms(channels, Histogram{});
  for (int64_t i : examples) {
    if (i < 0 || i >= dataset.count()) {
      return InvalidArgument(fmt::format(
          "normalization: example {} of a data set of {}", i, dataset.count()));
    }
    const uint8_t* pixel = dataset.image(i);
    for (const uint8_t* end = pixel + elems; pixel != end; pixel += channels) {
      for (int64_t c = 0; c < channels; ++c) ++histograms[c][pixel[c]];
    }
  }
  Normalization result{std::vector<double>(channels),
                       std::vector<double>(channels)};
  for (int64_t c = 0; c < channels; ++c) {
    Summarize(histograms[c], &result.mean[c], &result.std[c]);
  }
  return result;
}

StatusOr<Normalization> ComputeNormalization(const Dataset& dataset) {
  std::vector<int64_t> all(static_cast<size_t>(dataset.count()));
  std::iota(all.begin(), all.end(), 0);
  return ComputeNormalization(dataset, all);
}

StatusOr<PixelTable> PixelTable::Create(const Normalization& normalization) {
  const auto& [mean, deviation] = normalization;
  if (mean.empty() || mean.size() != deviation.size()) {
    return InvalidArgument(
        fmt::format("normalization: {} means and {} deviations", mean.size(),
                    deviation.size()));
  }
  PixelTable table;
  table.channels_ = static_cast<int64_t>(mean.size());
  table.values_.reserve(mean.size() * 256);
  for (size_t c = 0; c < mean.size(); ++c) {
    if (!std::isfinite(mean[c]) || !std::isfinite(deviation[c]) ||
        deviation[c] <= 0.0) {
      return InvalidArgument(fmt::format(
          "normalization: channel {} has mean {} and deviation {}, expected "
          "finite numbers and a positive deviation",
          c, mean[c], deviation[c]));
    }
    for (int v = 0; v < 256; ++v) {
      table.values_.push_back(
          static_cast<float>((v / kScale - mean[c]) / deviation[c]));
    }
  }
  return table;
}

void PixelTable::Normalize(const uint8_t* pixels, int64_t count,
                           float* out) const {
  for (int64_t p = 0; p < count; ++p) {
    for (int64_t c = 0; c < channels_; ++c) *out++ = channel(c)[*pixels++];
  }
}

}  // namespace densenet
