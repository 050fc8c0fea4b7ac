#include "core/io/image_resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

// Two passes, each rounded to a level.
constexpr double kLevels = 1.0;

Image RandomImage(int64_t height, int64_t width) {
  Image image{.height = height, .width = width, .pixels = {}};
  for (int64_t i = 0; i < height * width * 3; ++i) {
    image.pixels.push_back(static_cast<uint8_t>(RandomBits({.seed = 2}, i)));
  }
  return image;
}

// The weight of input pixel `x` in output pixel `i`, from the definition: a
// triangle around the output's centre, as wide as the larger pixel.
double Weight(int64_t x, int64_t i, int64_t in, int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double radius = std::max(scale, 1.0);
  const double distance = (x + 0.5) - (i + 0.5) * scale;
  return std::max(0.0, 1.0 - std::abs(distance) / radius);
}

double ReferencePixel(const Image& image, int64_t height, int64_t width,
                      int64_t y, int64_t x, int64_t c) {
  double sum = 0, weights = 0;
  for (int64_t r = 0; r < image.height; ++r) {
    for (int64_t s = 0; s < image.width; ++s) {
      const double weight =
          Weight(r, y, image.height, height) * Weight(s, x, image.width, width);
      sum += weight * image.pixels[(r * image.width + s) * 3 + c];
      weights += weight;
    }
  }
  return sum / weights;
}

struct Sizes {
  int64_t height, width, to_height, to_width;
};

class ResizeTest : public ::testing::TestWithParam<Sizes> {};

TEST_P(ResizeTest, EqualsFloat64) {
  const auto [height, width, to_height, to_width] = GetParam();
  const Image image = RandomImage(height, width);
  StatusOr<Image> resized = ResizeBilinear(image, to_height, to_width);
  ASSERT_OK(resized);
  ASSERT_EQ(resized->height, to_height);
  ASSERT_EQ(resized->width, to_width);
  size_t i = 0;
  for (int64_t y = 0; y < to_height; ++y) {
    for (int64_t x = 0; x < to_width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(resized->pixels[i++],
                    ReferencePixel(image, to_height, to_width, y, x, c),
                    kLevels);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ResizeTest,
    ::testing::Values(Sizes{8, 8, 8, 8}, Sizes{8, 9, 4, 3}, Sizes{5, 7, 11, 13},
                      Sizes{1, 1, 3, 5}, Sizes{17, 13, 1, 1},
                      Sizes{30, 10, 7, 10}, Sizes{10, 30, 10, 31},
                      Sizes{31, 2, 3, 9}));

TEST(ImageResizeTest, ConstantStaysConstant) {
  const Image image{
      .height = 37, .width = 23, .pixels = std::vector<uint8_t>(37 * 69, 201)};
  StatusOr<Image> resized = ResizeBilinear(image, 10, 50);
  ASSERT_OK(resized);
  EXPECT_THAT(resized->pixels, ::testing::Each(201));
}

TEST(ImageResizeTest, CropTakesTheMiddle) {
  const Image image = RandomImage(5, 8);
  StatusOr<Image> cut = CenterCrop(image, 3, 2);
  ASSERT_OK(cut);
  for (int64_t y = 0; y < 3; ++y) {
    for (int64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(cut->pixels[y * 6 + i], image.pixels[(y + 1) * 24 + 9 + i]);
    }
  }
  EXPECT_EQ(*CenterCrop(image, 5, 8), image);
  EXPECT_THAT(CenterCrop(image, 6, 2),
              Fails(StatusCode::kInvalidArgument, {"6x2", "5x8"}));
}

TEST(ImageResizeTest, Errors) {
  const Image image = RandomImage(2, 2);
  EXPECT_THAT(ResizeBilinear(image, 0, 2),
              Fails(StatusCode::kInvalidArgument, {"2x2 to 0x2"}));
  EXPECT_THAT(ResizeBilinear(image, int64_t{1} << 40, 2),
              Fails(StatusCode::kInvalidArgument, {"at most"}));
  EXPECT_THAT(ResizeBilinear({}, 2, 2),
              Fails(StatusCode::kInvalidArgument, {"0x0"}));
}

}  // namespace
}  // namespace densenet
