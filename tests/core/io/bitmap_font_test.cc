#include "core/io/bitmap_font.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace densenet {
namespace {

Image Blank(int64_t height, int64_t width) {
  Image image;
  image.height = height;
  image.width = width;
  image.pixels.assign(static_cast<size_t>(height * width * 3), 0);
  return image;
}

std::string Dots(const Image& image) {
  std::string text;
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      text += image.pixels[(y * image.width + x) * 3] != 0 ? '#' : '.';
    }
    text += '\n';
  }
  return text;
}

TEST(BitmapFont, DrawsLettersAsTheyLook) {
  Image image = Blank(8, 12);
  DrawText("Lt", 0, 0, 1, {255, 255, 255}, image);
  EXPECT_EQ(Dots(image),
            "#......#....\n"
            "#......#....\n"
            "#.....###...\n"
            "#......#....\n"
            "#......#....\n"
            "#......#..#.\n"
            "#####...##..\n"
            "............\n");
}

TEST(BitmapFont, EveryCharacterHasALookOfItsOwn) {
  std::set<std::string> looks;
  for (char c = ' '; c <= '~'; ++c) {
    Image image = Blank(kGlyphHeight, kGlyphAdvance);
    DrawText(std::string(1, c), 0, 0, 1, {1, 1, 1}, image);
    EXPECT_TRUE(looks.insert(Dots(image)).second) << c;
  }
  Image unknown = Blank(kGlyphHeight, kGlyphAdvance);
  DrawText("\xc3", 0, 0, 1, {1, 1, 1}, unknown);
  EXPECT_EQ(looks.count(Dots(unknown)), 1u);
}

TEST(BitmapFont, ScalesAndStaysInside) {
  Image image = Blank(14, 12);
  DrawText("L", 0, 0, 2, {7, 8, 9}, image);
  EXPECT_EQ(image.pixels[0], 7);
  EXPECT_EQ(image.pixels[(1 * 12 + 1) * 3 + 2], 9);
  EXPECT_EQ(image.pixels[2 * 3], 0);
  Image small = Blank(3, 3);
  DrawText("WWW", -4, -2, 3, {1, 1, 1}, small);
  DrawText("WWW", 2, 2, 3, {1, 1, 1}, small);
  EXPECT_EQ(small.pixels.size(), 27u);
}

}  // namespace
}  // namespace densenet
