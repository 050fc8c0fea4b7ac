#include "core/io/image_resize.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace densenet {
namespace {

constexpr int64_t kChannels = 3;
constexpr int kWeightBits = 22;  // 8 bits of pixel and a sign beside it
constexpr int32_t kHalf = 1 << (kWeightBits - 1);
constexpr int64_t kMaxPixels = int64_t{1} << 28;

uint8_t Round(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

// `channels` known to the compiler where it is one that images have.
template <int64_t kFixed>
void WeighRow(const uint8_t* in, const int32_t* weights, int64_t count,
              int64_t channels, uint8_t* out) {
  const int64_t n = kFixed > 0 ? kFixed : channels;
  for (int64_t c = 0; c < n; ++c) {
    int32_t sum = kHalf;
    for (int64_t i = 0; i < count; ++i) sum += weights[i] * in[i * n + c];
    out[c] = Round(sum);
  }
}

}  // namespace

void RowResizer::MakeWindows(const ResizeAxis& axis, Axis* made) {
  made->windows.clear();
  made->weights.clear();
  made->longest = 0;
  const double scale =
      static_cast<double>(axis.length) / static_cast<double>(axis.scaled);
  const double radius = std::max(scale, 1.0);
  for (int64_t i = axis.out_begin; i < axis.out_begin + axis.out; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    auto begin =
        std::max<int64_t>(static_cast<int64_t>(center - radius + 0.5), 0);
    auto end = std::min<int64_t>(static_cast<int64_t>(center + radius + 0.5),
                                 axis.length);
    const auto weight = [&](int64_t x) {
      const double distance =
          std::abs((static_cast<double>(x) - center + 0.5) / radius);
      return std::max(1.0 - distance, 0.0);
    };
    double sum = 0;
    for (int64_t x = begin; x < end; ++x) sum += weight(x);
    const auto fixed = [&](int64_t x) {
      return static_cast<int32_t>(weight(x) / sum * (1 << kWeightBits) + 0.5);
    };
    // Pixels at the rim that count for nothing.
    while (end - begin > 1 && fixed(end - 1) == 0) --end;
    while (end - begin > 1 && fixed(begin) == 0) ++begin;
    made->windows.push_back({axis.begin + begin, end - begin,
                             static_cast<int64_t>(made->weights.size())});
    for (int64_t x = begin; x < end; ++x) made->weights.push_back(fixed(x));
    made->longest = std::max(made->longest, end - begin);
  }
}

void RowResizer::Reset(const ResizeAxis& rows, const ResizeAxis& columns,
                       int64_t channels) {
  for (const ResizeAxis& axis : {rows, columns}) {
    CHECK(axis.begin >= 0 && axis.length > 0 && axis.scaled > 0 &&
          axis.out_begin >= 0 && axis.out > 0 &&
          axis.out_begin + axis.out <= axis.scaled);
  }
  CHECK_GE(channels, 1);
  MakeWindows(rows, &rows_);
  MakeWindows(columns, &columns_);
  channels_ = channels;
  row_bytes_ = columns.out * channels;
  first_row_ = rows_.windows.front().begin;
  end_row_ = rows_.windows.back().begin + rows_.windows.back().count;
  next_out_ = 0;
  kept_.resize(static_cast<size_t>(rows_.longest * row_bytes_));
  sums_.resize(static_cast<size_t>(row_bytes_));
}

void RowResizer::ResizeRow(const uint8_t* row, uint8_t* out) const {
  for (const Window& window : columns_.windows) {
    const uint8_t* in = row + window.begin * channels_;
    const int32_t* weights = columns_.weights.data() + window.weights;
    if (channels_ == kChannels) {
      WeighRow<kChannels>(in, weights, window.count, channels_, out);
    } else {
      WeighRow<0>(in, weights, window.count, channels_, out);
    }
    out += channels_;
  }
}

void RowResizer::CombineRows(const Window& window, uint8_t* out) {
  const int32_t* weights = rows_.weights.data() + window.weights;
  if (window.count == 1) {  // its weight is 1
    const uint8_t* in = KeptRow(window.begin);
    std::copy(in, in + row_bytes_, out);
    return;
  }
  std::fill(sums_.begin(), sums_.end(), kHalf);
  int32_t* sums = sums_.data();
  for (int64_t i = 0; i < window.count; ++i) {
    const uint8_t* in = KeptRow(window.begin + i);
    const int32_t weight = weights[i];
    for (int64_t x = 0; x < row_bytes_; ++x) sums[x] += weight * in[x];
  }
  for (int64_t x = 0; x < row_bytes_; ++x) out[x] = Round(sums[x]);
}

void RowResizer::Add(int64_t y, const uint8_t* row, uint8_t* out) {
  DCHECK(first_row_ <= y && y < end_row_);
  ResizeRow(row, KeptRow(y));
  while (next_out_ < rows_.windows.size()) {
    const Window& window = rows_.windows[next_out_];
    if (window.begin + window.count > y + 1) return;
    CombineRows(window, out + static_cast<int64_t>(next_out_) * row_bytes_);
    ++next_out_;
  }
}

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
  Image out{.height = height, .width = width, .pixels = {}};
  out.pixels.resize(static_cast<size_t>(height * width * kChannels));
  RowResizer resizer;
  resizer.Reset({0, image.height, height, 0, height},
                {0, image.width, width, 0, width}, kChannels);
  for (int64_t y = resizer.first_row(); y < resizer.end_row(); ++y) {
    resizer.Add(y, image.pixels.data() + y * image.width * kChannels,
                out.pixels.data());
  }
  return out;
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

}  // namespace densenet
