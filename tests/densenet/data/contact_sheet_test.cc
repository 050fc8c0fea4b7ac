#include "densenet/data/contact_sheet.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace densenet {
namespace {

Image Flat(int64_t height, int64_t width, uint8_t value) {
  Image image;
  image.height = height;
  image.width = width;
  image.pixels.assign(static_cast<size_t>(height * width * 3), value);
  return image;
}

int64_t Count(const Image& image, uint8_t value) {
  return std::count(image.pixels.begin(), image.pixels.end(), value) / 3;
}

TEST(ContactSheet, HoldsEveryImageEnlargedByAWholeFactor) {
  for (const int64_t count : {1, 2, 5, 16, 17}) {
    ContactSheet sheet;
    sheet.title = "title";
    for (int64_t i = 0; i < count; ++i) {
      sheet.images.push_back(Flat(32, 28, static_cast<uint8_t>(100 + i)));
      sheet.labels.push_back("label");
    }
    const Image drawn = DrawContactSheet(sheet);
    for (int64_t i = 0; i < count; ++i) {
      // 3 x 3 for each pixel; nothing is cut off or covered.
      EXPECT_EQ(Count(drawn, static_cast<uint8_t>(100 + i)), 32 * 28 * 9);
    }
  }
}

TEST(ContactSheet, LargeImagesStayAsTheyAre) {
  const Image drawn = DrawContactSheet({"t",
                                        {Flat(224, 224, 9)},
                                        {"a label of many letters "
                                         "that is far too long"}});
  EXPECT_EQ(Count(drawn, 9), 224 * 224);
}

TEST(ContactSheet, LabelsAreInk) {
  const Image without = DrawContactSheet({"", {Flat(32, 32, 9)}, {""}});
  const Image with = DrawContactSheet({"", {Flat(32, 32, 9)}, {"frog"}});
  EXPECT_EQ(Count(without, 30), 0);
  EXPECT_GT(Count(with, 30), 30);
  EXPECT_EQ(without.height, with.height);
  EXPECT_EQ(without.width, with.width);
}

}  // namespace
}  // namespace densenet
