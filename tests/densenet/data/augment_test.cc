#include "densenet/data/augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "memory/host_memory.h"
#include "tests/densenet/data/test_dataset.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::RandomDataset;

// Pads, cuts and mirrors one step after the other.
std::vector<float> Reference(const std::vector<float>& image, int64_t height,
                             int64_t width, int64_t channels, int64_t pad,
                             const Augmentation& augmentation) {
  const int64_t padded_width = width + 2 * pad;
  std::vector<float> padded((height + 2 * pad) * padded_width * channels, 0);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        padded[((y + pad) * padded_width + x + pad) * channels + c] =
            image[(y * width + x) * channels + c];
      }
    }
  }
  std::vector<float> out;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const int64_t column = augmentation.mirror ? width - 1 - x : x;
      for (int64_t c = 0; c < channels; ++c) {
        out.push_back(padded[((y + augmentation.top) * padded_width + column +
                              augmentation.left) *
                                 channels +
                             c]);
      }
    }
  }
  return out;
}

struct Size {
  int64_t height, width, channels, pad;
};

class AugmentTest : public ::testing::TestWithParam<Size> {};

TEST_P(AugmentTest, EqualsPadCutMirror) {
  const auto [height, width, channels, pad] = GetParam();
  HostMemory memory;
  const Dataset data = RandomDataset(1, height, width, channels, memory);
  StatusOr<PixelTable> table = PixelTable::Create(
      {std::vector<double>(channels, 0.4), std::vector<double>(channels, 0.3)});
  ASSERT_OK(table);
  std::vector<float> image(data.info.image_elems());
  table->Normalize(data.image(0), height * width, image.data());
  std::vector<float> out(image.size());
  for (int64_t top = 0; top <= 2 * pad; ++top) {
    for (int64_t left = 0; left <= 2 * pad; ++left) {
      for (bool mirror : {false, true}) {
        const Augmentation augmentation = {top, left, mirror};
        std::fill(out.begin(), out.end(), -99.0f);
        AugmentImage(*table, data.image(0), height, width, pad, augmentation,
                     out.data());
        EXPECT_EQ(out,
                  Reference(image, height, width, channels, pad, augmentation))
            << top << ", " << left << ", " << mirror;
      }
    }
  }
}

// The last ones pad by more than the image has.
INSTANTIATE_TEST_SUITE_P(Sizes, AugmentTest,
                         ::testing::Values(Size{8, 8, 3, 4}, Size{5, 7, 1, 2},
                                           Size{6, 6, 3, 0}, Size{3, 2, 3, 4},
                                           Size{1, 1, 1, 3}));

TEST(DrawAugmentationTest, IsAFunctionOfSeedEpochAndExample) {
  const auto draw = [](uint64_t seed, int64_t epoch, int64_t example) {
    const Augmentation a = DrawAugmentation({}, seed, epoch, example);
    return (a.top * 9 + a.left) * 2 + (a.mirror ? 1 : 0);
  };
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  int same_seed = 0, same_epoch = 0, same_example = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    same_seed += draw(1, 0, i) == draw(2, 0, i);
    same_epoch += draw(1, 0, i) == draw(1, 1, i);
    same_example += draw(1, 0, i) == draw(1, 0, i + 1);
  }
  // By chance one in 162.
  for (int same : {same_seed, same_epoch, same_example}) EXPECT_LT(same, 30);
}

TEST(DrawAugmentationTest, EveryPlaceIsEquallyLikely) {
  std::vector<int64_t> counts(2 * 9 * 9);
  constexpr int64_t kDraws = 162 * 1000;
  for (int64_t i = 0; i < kDraws; ++i) {
    const Augmentation a = DrawAugmentation({}, 5, 3, i);
    ASSERT_TRUE(0 <= a.top && a.top <= 8 && 0 <= a.left && a.left <= 8);
    ++counts[(a.top * 9 + a.left) * 2 + (a.mirror ? 1 : 0)];
  }
  // 1000 each; five deviations are 158.
  EXPECT_THAT(counts, ::testing::Each(::testing::AllOf(::testing::Gt(842),
                                                       ::testing::Lt(1158))));
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_FALSE(DrawAugmentation({.pad = 4, .mirror = false}, 5, 3, i).mirror);
  }
}

}  // namespace
}  // namespace densenet
