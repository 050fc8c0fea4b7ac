#include "densenet/data/photo_augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/random.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

ImageCut Draw(int64_t example, int64_t height, int64_t width, uint64_t seed = 1,
              int64_t epoch = 0) {
  return DrawPhotoCut({}, seed, epoch, example, height, width, 224, 224);
}

TEST(PhotoCutTest, IsWithinTheImageAndOfTheSizesAllowed) {
  for (auto [height, width] : {std::pair<int64_t, int64_t>{375, 500},
                               {500, 333},
                               {64, 64},
                               {1000, 20},
                               {1, 1}}) {
    for (int64_t i = 0; i < 2000; ++i) {
      const auto [rows, columns] = Draw(i, height, width);
      ASSERT_TRUE(rows.begin >= 0 && rows.length >= 1 &&
                  rows.begin + rows.length <= height);
      ASSERT_TRUE(columns.begin >= 0 && columns.length >= 1 &&
                  columns.begin + columns.length <= width);
      EXPECT_EQ(rows.scaled, 224);
      EXPECT_EQ(columns.out, 224);
      if (height < 300 || width < 300) continue;
      const double h = static_cast<double>(rows.length);
      const double w = static_cast<double>(columns.length);
      // Sides are rounded to pixels.
      EXPECT_GT((w + 1) / (h - 1), 0.75);
      EXPECT_LT((w - 1) / (h + 1), 4.0 / 3);
      const double image = static_cast<double>(height * width);
      EXPECT_GT((w + 1) * (h + 1), 0.08 * image);
    }
  }
}

// The share of the area is uniform in [0.08, 1] where the shape always fits,
// and the logarithm of width / height is symmetric.
TEST(PhotoCutTest, IsSpreadAsDefined) {
  PhotoAugmentOptions options;
  options.max_area = 0.5;
  double area = 0, ratio = 0;
  constexpr int64_t kDraws = 20000;
  std::array<int64_t, 4> quarters{};
  for (int64_t i = 0; i < kDraws; ++i) {
    const auto [rows, columns] =
        DrawPhotoCut(options, 3, 1, i, 1000, 1000, 224, 224);
    const double h = static_cast<double>(rows.length);
    const double w = static_cast<double>(columns.length);
    area += h * w / 1e6;
    ratio += std::log(w / h);
    const bool below = rows.begin > (1000 - rows.length) / 2;
    const bool right = columns.begin > (1000 - columns.length) / 2;
    ++quarters[(below ? 2 : 0) + (right ? 1 : 0)];
  }
  const double n = kDraws;
  EXPECT_NEAR(area / n, 0.29, 5 * 0.1212 / std::sqrt(n));
  EXPECT_NEAR(ratio / n, 0, 5 * 0.1661 / std::sqrt(n));
  for (int64_t count : quarters) {
    EXPECT_NEAR(static_cast<double>(count), n / 4, 5 * std::sqrt(n * 3 / 16));
  }
}

// Nothing in the range fits: the middle, as wide as is allowed.
TEST(PhotoCutTest, FallsBackToTheMiddle) {
  const auto [rows, columns] = Draw(0, 30, 3000);
  EXPECT_EQ(rows, (ResizeAxis{0, 30, 224, 0, 224}));
  EXPECT_EQ(columns, (ResizeAxis{1480, 40, 224, 0, 224}));
}

TEST(PhotoCutTest, IsAFunctionOfSeedEpochAndExample) {
  int same_seed = 0, same_epoch = 0, same_example = 0;
  EXPECT_EQ(Draw(5, 375, 500, 1, 2), Draw(5, 375, 500, 1, 2));
  for (int64_t i = 0; i < 500; ++i) {
    same_seed += Draw(i, 375, 500, 1) == Draw(i, 375, 500, 2);
    same_epoch += Draw(i, 375, 500, 1, 0) == Draw(i, 375, 500, 1, 1);
    same_example += Draw(i, 375, 500) == Draw(i + 1, 375, 500);
  }
  EXPECT_LT(same_seed, 3);
  EXPECT_LT(same_epoch, 3);
  EXPECT_LT(same_example, 3);
}

TEST(PhotoColorsTest, AreSpreadAsDefined) {
  constexpr int64_t kDraws = 20000;
  std::map<std::array<int, 3>, int64_t> orders;
  double factors = 0, squares[3] = {}, means[3] = {};
  int64_t mirrored = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    const PhotoColors colors = DrawPhotoColors({}, 7, 2, i);
    std::array<int, 3> order{};
    for (int k = 0; k < 3; ++k) {
      order[k] = static_cast<int>(colors.order[k]);
      EXPECT_GE(colors.factors[k], 0.6f);
      EXPECT_LE(colors.factors[k], 1.4f);
      factors += colors.factors[k];
      means[k] += colors.shift[k];
      squares[k] += colors.shift[k] * colors.shift[k];
    }
    ++orders[order];
    mirrored += colors.mirror;
  }
  const double n = kDraws;
  EXPECT_EQ(orders.size(), 6u);
  for (const auto& [order, count] : orders) {
    EXPECT_NEAR(static_cast<double>(count), n / 6, 5 * std::sqrt(n * 5 / 36));
  }
  EXPECT_NEAR(factors / (3 * n), 1, 5 * 0.231 / std::sqrt(3 * n));
  EXPECT_NEAR(static_cast<double>(mirrored), n / 2, 5 * std::sqrt(n / 4));
  // Variance of red: sum over components of (vector * deviation * 0.1)^2.
  const double red = std::pow(0.5675 * 0.2175, 2) +
                     std::pow(0.7192 * 0.0188, 2) +
                     std::pow(0.4009 * 0.0045, 2);
  EXPECT_NEAR(squares[0] / n / (0.01 * red), 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(means[0] / n, 0, 5 * 0.1 * std::sqrt(red / n));
}

// The changes one after the other, by definition, in float64.
std::vector<double> Reference(const PhotoColors& colors,
                              const Normalization& normalization,
                              const std::vector<uint8_t>& pixels,
                              int64_t height, int64_t width) {
  const auto channels = static_cast<int64_t>(normalization.mean.size());
  std::vector<double> x(pixels.begin(), pixels.end());
  const auto luma = [&](const std::vector<double>& v, int64_t p) {
    return channels == 1
               ? v[p]
               : 0.299 * v[3 * p] + 0.587 * v[3 * p + 1] + 0.114 * v[3 * p + 2];
  };
  const int64_t count = height * width;
  for (int i = 0; i < 3; ++i) {
    const double factor = colors.factors[i];
    double mean = 0;
    for (int64_t p = 0; p < count; ++p) {
      mean += luma(x, p) / static_cast<double>(count);
    }
    const std::vector<double> before = x;
    for (int64_t p = 0; p < count; ++p) {
      const double other = colors.order[i] == ColorChange::kBrightness ? 0
                           : colors.order[i] == ColorChange::kContrast
                               ? mean
                               : luma(before, p);
      if (channels == 1 && colors.order[i] == ColorChange::kSaturation) break;
      for (int64_t c = 0; c < channels; ++c) {
        double& v = x[p * channels + c];
        v = std::clamp(v * factor + other * (1 - factor), 0.0, 255.0);
      }
    }
  }
  std::vector<double> out(x.size());
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t column = 0; column < width; ++column) {
      const int64_t from = colors.mirror ? width - 1 - column : column;
      for (int64_t c = 0; c < channels; ++c) {
        const double shift = channels == 3 ? colors.shift[c] : 0;
        out[(y * width + column) * channels + c] =
            (x[(y * width + from) * channels + c] / 255 + shift -
             normalization.mean[c]) /
            normalization.std[c];
      }
    }
  }
  return out;
}

TEST(PhotoColorsTest, EqualTheirDefinition) {
  // A few roundings of values up to 255, over the smallest deviation.
  constexpr double kTolerance = 8 * 0x1p-24 * 2 / 0.2;
  constexpr int64_t kHeight = 9, kWidth = 7;
  for (int64_t channels : {1, 3}) {
    std::vector<uint8_t> pixels;
    for (int64_t i = 0; i < kHeight * kWidth * channels; ++i) {
      pixels.push_back(static_cast<uint8_t>(RandomBits({.seed = 8}, i)));
    }
    const Normalization normalization =
        channels == 1 ? Normalization{{0.4}, {0.3}}
                      : Normalization{{0.4, 0.5, 0.6}, {0.2, 0.3, 0.25}};
    std::vector<float> scratch(
        PhotoColorScratchFloats(kHeight, kWidth, channels));
    std::vector<float> out(pixels.size());
    for (int64_t i = 0; i < 40; ++i) {
      const PhotoColors colors = DrawPhotoColors({.jitter = 0.9f}, 1, 0, i);
      ApplyPhotoColors(colors, normalization, pixels.data(), kHeight, kWidth,
                       scratch.data(), out.data());
      const std::vector<double> expected =
          Reference(colors, normalization, pixels, kHeight, kWidth);
      for (size_t k = 0; k < out.size(); ++k) {
        ASSERT_NEAR(out[k], expected[k], kTolerance) << i << ", " << k;
      }
    }
  }
}

TEST(PhotoAugmentTest, Errors) {
  EXPECT_OK(ValidatePhotoAugment({}));
  EXPECT_THAT(ValidatePhotoAugment({.min_area = 0}),
              Fails(StatusCode::kInvalidArgument, {"0 to 1 of the area"}));
  EXPECT_THAT(ValidatePhotoAugment({.min_ratio = 2}),
              Fails(StatusCode::kInvalidArgument, {"width to height of 2"}));
  EXPECT_THAT(ValidatePhotoAugment({.jitter = 1.5f}),
              Fails(StatusCode::kInvalidArgument, {"jitter 1.5"}));
}

}  // namespace
}  // namespace densenet
