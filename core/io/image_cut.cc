#include "core/io/image_cut.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/io/image_codecs.h"

namespace densenet {
namespace {

constexpr int64_t kChannels = 3;

// The same pixels of an axis that runs backwards.
ResizeAxis Flipped(ResizeAxis axis, int64_t size) {
  axis.begin = size - axis.begin - axis.length;
  axis.out_begin = axis.scaled - axis.out_begin - axis.out;
  return axis;
}

void CheckWithin(const ResizeAxis& axis, int64_t size) {
  CHECK(axis.begin >= 0 && axis.length > 0 && axis.begin + axis.length <= size)
      << "[" << axis.begin << ", " << axis.begin + axis.length << ") of "
      << size;
}

}  // namespace

// Resizes the stored rows; the result is turned afterwards.
class ImageCutter::Sink final : public image_codecs::RowSink {
 public:
  Sink(ImageCutter& cutter, ChooseCut choose, uint8_t* out)
      : cutter_(cutter), choose_(choose), out_(out) {}

  StatusOr<image_codecs::RowRange> Begin(
      const image_codecs::StoredSize& size) override {
    turn_ = image_codecs::TurnOf(size.orientation);
    const int64_t height = turn_.transpose ? size.width : size.height;
    const int64_t width = turn_.transpose ? size.height : size.width;
    cut_ = choose_(height, width);
    CheckWithin(cut_.rows, height);
    CheckWithin(cut_.columns, width);
    if (turn_.flip_y) cut_.rows = Flipped(cut_.rows, height);
    if (turn_.flip_x) cut_.columns = Flipped(cut_.columns, width);
    if (turn_.transpose) std::swap(cut_.rows, cut_.columns);
    is_turned_ = size.orientation != 1;
    if (is_turned_) {
      cutter_.stored_.resize(
          static_cast<size_t>(cut_.rows.out * cut_.columns.out * kChannels));
    }
    cutter_.resizer_.Reset(cut_.rows, cut_.columns, kChannels);
    return image_codecs::RowRange{cutter_.resizer_.first_row(),
                                  cutter_.resizer_.end_row()};
  }

  void Row(int64_t y, const uint8_t* rgb) override {
    cutter_.resizer_.Add(y, rgb, is_turned_ ? cutter_.stored_.data() : out_);
  }

  void Finish() {
    if (!is_turned_) return;
    image_codecs::TurnPixels(cutter_.stored_.data(), cut_.rows.out,
                             cut_.columns.out, turn_, out_);
  }

 private:
  ImageCutter& cutter_;
  ChooseCut choose_;
  uint8_t* out_;
  image_codecs::Turn turn_;
  bool is_turned_ = false;
  ImageCut cut_;  // of the stored image
};

Status ImageCutter::Decode(std::string_view bytes, std::string_view name,
                           ChooseCut choose, uint8_t* out) {
  Sink sink(*this, choose, out);
  RETURN_IF_ERROR(image_codecs::Decode(bytes, name, sink));
  sink.Finish();
  return OkStatus();
}

void ImageCutter::Cut(const uint8_t* pixels, int64_t height, int64_t width,
                      int64_t channels, const ImageCut& cut, uint8_t* out) {
  CheckWithin(cut.rows, height);
  CheckWithin(cut.columns, width);
  resizer_.Reset(cut.rows, cut.columns, channels);
  for (int64_t y = resizer_.first_row(); y < resizer_.end_row(); ++y) {
    resizer_.Add(y, pixels + y * width * channels, out);
  }
}

ImageCut CenterCut(int64_t image_height, int64_t image_width, int64_t height,
                   int64_t width, double margin) {
  CHECK(image_height > 0 && image_width > 0 && height > 0 && width > 0);
  const double scale =
      margin *
      std::max(static_cast<double>(height) / static_cast<double>(image_height),
               static_cast<double>(width) / static_cast<double>(image_width));
  const auto axis = [&](int64_t size, int64_t out) {
    const int64_t scaled =
        std::max<int64_t>(std::llround(static_cast<double>(size) * scale), out);
    return ResizeAxis{0, size, scaled, (scaled - out) / 2, out};
  };
  return {axis(image_height, height), axis(image_width, width)};
}

}  // namespace densenet
