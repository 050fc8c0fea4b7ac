// core/io/bitmap_font.h
//
// Small text on images: the printable ASCII characters, 5 x 8 dots each, the
// lowest row for what hangs below the line; others are drawn as "?".
//
// Threads  safe

#ifndef DENSENET_CORE_IO_BITMAP_FONT_H_
#define DENSENET_CORE_IO_BITMAP_FONT_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "core/io/image.h"

namespace densenet {

// Pixels of a line of text at a scale of 1, with the space between letters.
inline constexpr int64_t kGlyphHeight = 8;
inline constexpr int64_t kGlyphAdvance = 6;

constexpr int64_t TextWidth(std::string_view text, int64_t scale) {
  return static_cast<int64_t>(text.size()) * kGlyphAdvance * scale;
}

using Color = std::array<uint8_t, 3>;  // red, green, blue

// Draws over `image` with the upper left corner at (x, y); what lies outside
// is left out. A dot is scale x scale pixels.
void DrawText(std::string_view text, int64_t x, int64_t y, int64_t scale,
              const Color& color, Image& image);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_BITMAP_FONT_H_
