#include "densenet/data/contact_sheet.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/io/bitmap_font.h"

namespace densenet {
namespace {

constexpr int64_t kSmallestSide = 84;  // of a tile; labels need room
constexpr int64_t kGap = 8;
constexpr int64_t kTitleScale = 2;
constexpr int64_t kLargeTile = 160;  // from here on labels are larger
constexpr uint8_t kPaper = 250;
constexpr Color kInk = {30, 30, 30};

struct Layout {
  int64_t columns;
  int64_t rows;
  int64_t scale;  // of the images
  int64_t text_scale;
  int64_t tile_height;
  int64_t tile_width;
  int64_t top;  // below the title

  int64_t label_height() const { return (kGlyphHeight + 4) * text_scale; }
  int64_t row_height() const { return tile_height + label_height() + kGap; }
  int64_t column_width() const { return tile_width + kGap; }
};

Layout Arrange(const ContactSheet& sheet) {
  const Image& first = sheet.images.front();
  const auto count = static_cast<int64_t>(sheet.images.size());
  Layout layout = {};
  layout.columns =
      static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  layout.rows = (count + layout.columns - 1) / layout.columns;
  const int64_t side = std::max(first.height, first.width);
  layout.scale = (kSmallestSide + side - 1) / side;
  layout.tile_height = first.height * layout.scale;
  layout.tile_width = first.width * layout.scale;
  layout.text_scale = layout.tile_width >= kLargeTile ? 2 : 1;
  layout.top = kGap + (kGlyphHeight + 6) * kTitleScale;
  return layout;
}

void DrawTile(const Image& image, int64_t x, int64_t y, int64_t scale,
              Image& sheet) {
  for (int64_t row = 0; row < image.height * scale; ++row) {
    uint8_t* out = sheet.pixels.data() + ((y + row) * sheet.width + x) * 3;
    const uint8_t* in = image.pixels.data() + row / scale * image.width * 3;
    for (int64_t column = 0; column < image.width * scale; ++column) {
      out = std::copy_n(in + column / scale * 3, 3, out);
    }
  }
}

std::string Shortened(std::string_view text, int64_t width, int64_t scale) {
  const auto most = static_cast<size_t>(width / (kGlyphAdvance * scale));
  if (text.size() <= most) return std::string(text);
  return std::string(text.substr(0, most > 2 ? most - 2 : 0)) + "..";
}

}  // namespace

Image DrawContactSheet(const ContactSheet& sheet) {
  CHECK(!sheet.images.empty());
  CHECK_EQ(sheet.images.size(), sheet.labels.size());
  const Layout layout = Arrange(sheet);
  Image image;
  // A single small image leaves no room for the title.
  image.width = std::max(kGap + layout.columns * layout.column_width(),
                         2 * kGap + TextWidth(sheet.title, kTitleScale));
  image.height = layout.top + layout.rows * layout.row_height();
  image.pixels.assign(static_cast<size_t>(image.height * image.width * 3),
                      kPaper);
  DrawText(sheet.title, kGap, kGap, kTitleScale, kInk, image);
  for (size_t i = 0; i < sheet.images.size(); ++i) {
    const Image& tile = sheet.images[i];
    CHECK(tile.height == sheet.images.front().height &&
          tile.width == sheet.images.front().width);
    const auto at = static_cast<int64_t>(i);
    const int64_t x = kGap + at % layout.columns * layout.column_width();
    const int64_t y = layout.top + at / layout.columns * layout.row_height();
    DrawTile(tile, x, y, layout.scale, image);
    DrawText(Shortened(sheet.labels[i], layout.tile_width, layout.text_scale),
             x, y + layout.tile_height + 2 * layout.text_scale,
             layout.text_scale, kInk, image);
  }
  return image;
}

}  // namespace densenet
