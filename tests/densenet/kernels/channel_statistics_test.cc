#include "densenet/kernels/channel_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

#include "tests/densenet/kernels/kernel_case.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/reference_batch_norm.h"
#include "tests/support/tolerance.h"

namespace densenet {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder

struct Case {
  int64_t images, pixels, channels;
  int64_t gap = 0;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.images << " x " << c.pixels << ", " << c.channels << ", gap "
       << c.gap;
}

class GatherMomentsKernelTest : public ::testing::TestWithParam<Case> {};

std::vector<double> Gather(const Case& s, const TestTensor& x, int threads) {
  const auto ctx = MakeContext(threads);
  std::vector<double> partials = Poisoned<double>(kMaxChunks * 2 * s.channels);
  FloatScratch scratch(threads * MomentsScratchFloats(s.channels));
  GatherMoments(*ctx, ImageChunks(s.images), s.pixels, s.channels, Data(x),
                s.channels + s.gap, partials.data(), scratch.data());
  EXPECT_TRUE(scratch.Intact());
  return partials;
}

TEST_P(GatherMomentsKernelTest, MatchesReference) {
  const Case& s = GetParam();
  const TestTensor x =
      TestTensor::Random({s.images * s.pixels, s.channels}, 1, s.gap);
  const std::vector<double> first = Gather(s, x, 1);
  EXPECT_TRUE(MomentsMatch(first, s.images, x));
  for (int threads : kThreadCounts) {
    EXPECT_TRUE(SameBits(Gather(s, x, threads), first));
  }
  // One part a chunk and nothing behind.
  const int64_t used = ImageChunks(s.images).count() * 2 * s.channels;
  for (int64_t i = 0; i < static_cast<int64_t>(first.size()); ++i) {
    ASSERT_EQ(std::isnan(first[i]), i >= used) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GatherMomentsKernelTest,
                         ::testing::Values(Case{1, 1, 1}, Case{1, 2, 5, 1},
                                           Case{3, 1, 12}, Case{19, 1, 16, 3},
                                           Case{3, 63, 63}, Case{3, 64, 64, 1},
                                           Case{2, 65, 65},
                                           Case{19, 130, 130, 7},
                                           Case{16, 5, 12}, Case{17, 5, 12}));

TEST(ChannelStatisticsKernelTest, ChunksCoverTheBatchInOrder) {
  for (int64_t images : {1, 3, 16, 17, 19, 64, 1000}) {
    const FixedChunks chunks = ImageChunks(images);
    EXPECT_EQ(chunks.count(), std::min(images, kMaxChunks));
    int64_t next = 0;
    for (int64_t i = 0; i < chunks.count(); ++i) {
      EXPECT_EQ(chunks.chunk(i).begin, next);
      EXPECT_GE(chunks.chunk(i).size(), 1);
      next = chunks.chunk(i).end;
    }
    EXPECT_EQ(next, images);
  }
}

// Plain sums of squares lose a fraction Roundoff * ratio^2 = 6 % of the
// variance here; with mean and M2 the loss grows with the ratio alone.
TEST(ChannelStatisticsKernelTest, NothingCancelsWhereTheMeanIsLarge) {
  constexpr double kRatio = 1000;
  constexpr Case kCase{19, 200, 5};
  constexpr int64_t kRows = kCase.images * kCase.pixels;
  TestTensor x = TestTensor::Random({kRows, kCase.channels}, 1);
  const double deviation = 1 / std::sqrt(3.0);  // of uniform [-1, 1)
  for (int64_t i = 0; i < x.elems(); ++i) {
    x.at(i) += static_cast<float>(kRatio * deviation);
  }
  const ReferenceBatchNorm reference{kRows, kCase.channels, 1e-5};
  const Doubles expected_mean = reference.Mean(x.ToDoubles());
  const Doubles expected_variance = reference.Variance(x.ToDoubles());
  const Doubles expected_inv_std = reference.InverseStd(expected_variance);
  TestTensor mean({kCase.channels});
  TestTensor inv_std({kCase.channels});
  TestTensor variance({kCase.channels});
  MergeMoments(Gather(kCase, x, 2).data(), ImageChunks(kCase.images),
               kCase.pixels, kCase.channels, reference.epsilon,
               {Data(mean), Data(inv_std), Data(variance)});
  EXPECT_TRUE(Near(mean.const_view(), expected_mean, 1));
  const double bound = kRatio * RelativeTolerance(DType::kFloat32, kTileRows);
  for (int64_t c = 0; c < kCase.channels; ++c) {
    const double unbiased = expected_variance[c] * kRows / (kRows - 1);
    EXPECT_LE(std::abs(variance.at(c) / unbiased - 1), bound) << c;
    EXPECT_LE(std::abs(inv_std.at(c) / expected_inv_std[c] - 1), bound) << c;
  }
}

// Mean and M2 of the same rows, cut into tiles of other sizes.
TEST(ChannelStatisticsKernelTest, TilesMergeToTheWhole) {
  constexpr int64_t kRows = 61;
  constexpr int64_t kChannels = 12;
  const TestTensor x = TestTensor::Random({kRows, kChannels}, 1);
  const ReferenceBatchNorm reference{kRows, kChannels, 0};
  const Doubles expected_mean = reference.Mean(x.ToDoubles());
  Doubles expected_m2 = reference.Variance(x.ToDoubles());
  for (double& v : expected_m2) v *= kRows;
  for (int64_t tile : {1, 2, 7, 60, 61}) {
    std::vector<double> partials = Poisoned<double>(2 * 2 * kChannels);
    FloatScratch scratch(2 * kChannels);
    MomentsPartial moments(partials.data(), /*chunk=*/1, kChannels);
    for (int64_t r = 0; r < kRows; r += tile) {
      moments.AddTile(std::min(tile, kRows - r), Data(x) + r * kChannels,
                      kChannels, scratch.data());
    }
    EXPECT_TRUE(scratch.Intact());
    TestTensor mean({kChannels});
    TestTensor m2({kChannels});
    for (int64_t c = 0; c < kChannels; ++c) {
      EXPECT_TRUE(std::isnan(partials[c]));  // chunk 0 is another's
      mean.at(c) = static_cast<float>(partials[2 * kChannels + c]);
      m2.at(c) = static_cast<float>(partials[3 * kChannels + c]);
    }
    EXPECT_TRUE(Near(mean.const_view(), expected_mean, kRows));
    EXPECT_TRUE(Near(m2.const_view(), expected_m2, kRows));
  }
}

TEST(ChannelStatisticsKernelTest, OneRowHasItsValueAndNoDeviation) {
  const TestTensor x = TestTensor::Random({1, 5}, 1);
  std::vector<double> partials = Poisoned<double>(10);
  FloatScratch scratch(10);
  MomentsPartial moments(partials.data(), 0, 5);
  moments.AddTile(1, Data(x), 5, scratch.data());
  for (int64_t c = 0; c < 5; ++c) {
    EXPECT_EQ(partials[c], x.at(c));
    EXPECT_EQ(partials[5 + c], 0);
  }
}

TEST(ChannelStatisticsKernelTest, EqualValuesHaveNoDeviation) {
  constexpr int64_t kRows = 3 * 50;
  const TestTensor x = TestTensor::FromVector({kRows, 1}, Doubles(kRows, 0.1f));
  const std::vector<double> partials = Gather({3, 50, 1}, x, 1);
  float mean, inv_std, variance;
  constexpr double kEpsilon = 1e-5;
  MergeMoments(partials.data(), ImageChunks(3), 50, 1, kEpsilon,
               {&mean, &inv_std, &variance});
  const double rounding = RelativeTolerance(DType::kFloat32, kTileRows);
  EXPECT_LE(std::abs(mean - 0.1f), rounding);
  EXPECT_LE(variance, rounding * rounding);
  EXPECT_LE(std::abs(inv_std * std::sqrt(kEpsilon) - 1), rounding);
}

TEST(ChannelStatisticsKernelDeathTest, OneValueHasNoVariance) {
  const double partials[2] = {1, 0};
  float out;
  EXPECT_DEATH(
      MergeMoments(partials, ImageChunks(1), 1, 1, 1e-5, {&out, &out, &out}),
      "total");
}

}  // namespace
}  // namespace densenet
