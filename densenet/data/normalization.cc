#include "densenet/data/normalization.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/io/image_cut.h"
#include "densenet/data/random_streams.h"
#include "densenet/data/shuffle.h"

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

void CountPixels(const uint8_t* pixel, int64_t elems,
                 std::vector<Histogram>* histograms) {
  const size_t channels = histograms->size();
  for (const uint8_t* end = pixel + elems; pixel != end; pixel += channels) {
    for (size_t c = 0; c < channels; ++c) ++(*histograms)[c][pixel[c]];
  }
}

Status CountSample(const ExampleStore& store,
                   absl::Span<const int64_t> examples, int64_t height,
                   int64_t width, std::vector<Histogram>* histograms) {
  constexpr int64_t kSample = 1024;
  const auto count = static_cast<int64_t>(examples.size());
  const Permutation order(count, {.seed = 0, .stream = kSampleStream});
  std::vector<char> encoded(static_cast<size_t>(store.max_encoded_bytes()));
  std::vector<uint8_t> pixels(static_cast<size_t>(height * width * 3));
  ImageCutter cutter;
  Status bad;
  bool any = false;
  for (int64_t i = 0; i < std::min(count, kSample); ++i) {
    const int64_t number = examples[static_cast<size_t>(order[i])];
    const StatusOr<Example> example =
        store.Read(number, absl::MakeSpan(encoded));
    const Status status =
        !example.ok() ? example.status()
                      : cutter.Decode(
                            example->encoded, store.NameOf(number),
                            [&](int64_t image_height, int64_t image_width) {
                              return CenterCut(image_height, image_width,
                                               height, width, 1.0);
                            },
                            pixels.data());
    if (status.ok()) {
      CountPixels(pixels.data(), height * width * 3, histograms);
      any = true;
    } else if (IsBadExample(status)) {
      bad = status;
    } else {
      return status;
    }
  }
  return any ? OkStatus()
             : Annotate(bad, "normalization: not one image can be read");
}

}  // namespace

StatusOr<Normalization> ComputeNormalization(const ExampleStore& store,
                                             absl::Span<const int64_t> examples,
                                             int64_t height, int64_t width) {
  const ImageDatasetInfo& info = store.Info();
  if (examples.empty()) {
    return InvalidArgument("normalization: there are no examples");
  }
  for (int64_t i : examples) {
    if (i < 0 || i >= store.count()) {
      return InvalidArgument(fmt::format(
          "normalization: example {} of a data set of {}", i, store.count()));
    }
  }
  std::vector<Histogram> histograms(static_cast<size_t>(info.channels),
                                    Histogram{});
  if (store.max_encoded_bytes() > 0) {
    RETURN_IF_ERROR(CountSample(store, examples, height, width, &histograms));
  } else {
    for (int64_t i : examples) {
      ASSIGN_OR_RETURN(const Example example, store.Read(i, {}));
      CountPixels(example.pixels, info.image_elems(), &histograms);
    }
  }
  Normalization result{std::vector<double>(histograms.size()),
                       std::vector<double>(histograms.size())};
  for (size_t c = 0; c < histograms.size(); ++c) {
    Summarize(histograms[c], &result.mean[c], &result.std[c]);
  }
  return result;
}

StatusOr<Normalization> ComputeNormalization(const ExampleStore& store) {
  std::vector<int64_t> all(static_cast<size_t>(store.count()));
  std::iota(all.begin(), all.end(), 0);
  return ComputeNormalization(store, all);
}

Normalization ImageNetNormalization() {
  return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
}

StatusOr<std::optional<Normalization>> ParseNormalization(std::string_view text,
                                                          int64_t channels) {
  if (text == "dataset") return std::optional<Normalization>();
  if (text == "imagenet" && channels == 3) {
    return std::optional(ImageNetNormalization());
  }
  const auto error = [&] {
    return InvalidArgument(fmt::format(
        "--normalize '{}': expected dataset, {}or the means and deviations of "
        "{} channel{}, each in [0, 1], as {}",
        text, channels == 3 ? "imagenet, " : "", channels,
        channels == 1 ? "" : "s",
        channels == 3 ? "0.5,0.5,0.5/0.2,0.2,0.2" : "0.5/0.2"));
  };
  const std::vector<absl::string_view> halves =
      absl::StrSplit(AbslView(text), '/');
  if (halves.size() != 2) return error();
  std::vector<double> values[2];
  for (size_t half = 0; half < 2; ++half) {
    for (absl::string_view field : absl::StrSplit(halves[half], ',')) {
      double value = 0;
      if (!absl::SimpleAtod(field, &value) || !(0 <= value && value <= 1) ||
          (half == 1 && value == 0)) {
        return error();
      }
      values[half].push_back(value);
    }
    if (values[half].size() == 1) {
      values[half].resize(static_cast<size_t>(channels), values[half][0]);
    }
    if (static_cast<int64_t>(values[half].size()) != channels) return error();
  }
  return std::optional(Normalization{values[0], values[1]});
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
  if (channels_ == 3) {
    const float *r = channel(0), *g = channel(1), *b = channel(2);
    for (int64_t p = 0; p < count; ++p, pixels += 3, out += 3) {
      out[0] = r[pixels[0]];
      out[1] = g[pixels[1]];
      out[2] = b[pixels[2]];
    }
    return;
  }
  for (int64_t p = 0; p < count; ++p) {
    for (int64_t c = 0; c < channels_; ++c) *out++ = channel(c)[*pixels++];
  }
}

void PixelTable::NormalizeMirrored(const uint8_t* pixels, int64_t count,
                                   float* out) const {
  pixels += count * channels_;
  if (channels_ == 3) {
    const float *r = channel(0), *g = channel(1), *b = channel(2);
    for (int64_t p = 0; p < count; ++p, out += 3) {
      pixels -= 3;
      out[0] = r[pixels[0]];
      out[1] = g[pixels[1]];
      out[2] = b[pixels[2]];
    }
    return;
  }
  for (int64_t p = 0; p < count; ++p) {
    pixels -= channels_;
    for (int64_t c = 0; c < channels_; ++c) *out++ = channel(c)[pixels[c]];
  }
}

}  // namespace densenet
