#include "densenet/kernels/row_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "core/cpu/channel_kernels.h"
#include "core/ops/dropout.h"
#include "core/random.h"
#include "tests/densenet/kernels/kernel_case.h"
#include "tests/support/compare.h"
#include "tests/support/kernel_target.h"
#include "tests/support/make_context.h"
#include "tests/support/reference_batch_norm.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder

// (rows, channels, gap)
using Case = std::tuple<int64_t, int64_t, int64_t>;

class RowKernelTest : public ::testing::TestWithParam<Case> {
 protected:
  const int64_t rows_ = std::get<0>(GetParam());
  const int64_t channels_ = std::get<1>(GetParam());
  const int64_t gap_ = std::get<2>(GetParam());
  const int64_t ld_ = channels_ + gap_;
  const NormalizedInput in_{rows_, channels_, 1, gap_};
  const TestTensor dz_ = TestTensor::Random({rows_, channels_}, 20, gap_);
  const TestTensor old_ = TestTensor::Random({rows_, channels_}, 21, gap_);
};

TEST_P(RowKernelTest, AffineRelu) {
  TestTensor z = PoisonedTensor({rows_, channels_}, gap_);
  AffineReluRows(rows_, channels_, Data(in_.x()), ld_, Data(in_.scale()),
                 Data(in_.shift()), Data(z), ld_);
  EXPECT_TRUE(Near(z.view(), in_.z(), 1));
  EXPECT_TRUE(z.GapsUntouched());
  TestTensor in_place = in_.x();
  AffineReluRows(rows_, channels_, Data(in_place), ld_, Data(in_.scale()),
                 Data(in_.shift()), Data(in_place), ld_);
  EXPECT_TRUE(SameBits(in_place, z));
  if (!HasFusedMultiplyAdd()) return;
  for (int64_t i = 0; i < z.elems(); ++i) {
    const int64_t c = i % channels_;
    const float y =
        std::fma(in_.x().at(i), in_.scale().at(c), in_.shift().at(c));
    ASSERT_EQ(z.at(i), std::max(y, 0.0f)) << i;
  }
}

TEST_P(RowKernelTest, Moments) {
  TestTensor mean = PoisonedTensor({channels_});
  TestTensor m2 = PoisonedTensor({channels_});
  MomentsRows(rows_, channels_, Data(in_.x()), ld_, Data(mean), Data(m2));
  const ReferenceBatchNorm reference{rows_, channels_, 0};
  const Doubles x = in_.x().ToDoubles();
  Doubles expected = reference.Variance(x);
  for (double& v : expected) v *= static_cast<double>(rows_);
  EXPECT_TRUE(Near(mean.const_view(), reference.Mean(x), rows_));
  EXPECT_TRUE(Near(m2.const_view(), expected, rows_));
}

struct Sums {
  explicit Sums(int64_t channels)
      : dy(PoisonedTensor({channels})), dyx(PoisonedTensor({channels})) {}
  TestTensor dy, dyx;
};

// What the three masked kernels share.
class MaskedRowKernelTest : public RowKernelTest {
 protected:
  Doubles Dy() const {
    Doubles dy = dz_.ToDoubles();
    for (size_t i = 0; i < dy.size(); ++i) {
      if (in_.z()[i] == 0) dy[i] = 0;
    }
    return dy;
  }
  Doubles ScaledDy() const {
    Doubles dy = Dy();
    for (size_t i = 0; i < dy.size(); ++i)
      dy[i] *= in_.scale().at(i % channels_);
    return dy;
  }
  void ExpectSums(const Sums& sums) const {
    const Doubles dy = Dy();
    Doubles sum(channels_, 0.0);
    Doubles sum_x(channels_, 0.0);
    for (size_t i = 0; i < dy.size(); ++i) {
      const int64_t c = static_cast<int64_t>(i) % channels_;
      sum[c] += dy[i];
      sum_x[c] += dy[i] * (double{in_.x().at(i)} - in_.mean().at(c));
    }
    EXPECT_TRUE(Near(sums.dy.view(), sum, rows_));
    EXPECT_TRUE(Near(sums.dyx.view(), sum_x, rows_));
  }
  using Kernel = decltype(MaskedScaleRows);
  Sums Call(Kernel* kernel, const TestTensor& dz, TestTensor& out) const {
    Sums sums(channels_);
    kernel(rows_, channels_, Data(in_.x()), ld_, Data(in_.scale()),
           Data(in_.shift()), Data(in_.mean()), Data(dz), ld_, Data(out), ld_,
           Data(sums.dy), Data(sums.dyx));
    EXPECT_TRUE(out.GapsUntouched());
    return sums;
  }
};

TEST_P(MaskedRowKernelTest, StoresTheMaskedGradient) {
  TestTensor dy = PoisonedTensor({rows_, channels_}, gap_);
  ExpectSums(Call(MaskedSumsRows, dz_, dy));
  EXPECT_EQ(dy.ToDoubles(), Dy());
  TestTensor in_place = dz_;
  ExpectSums(Call(MaskedSumsRows, in_place, in_place));
  EXPECT_TRUE(SameBits(in_place, dy));
}

TEST_P(MaskedRowKernelTest, OverwritesWithTheScaledGradient) {
  TestTensor g = PoisonedTensor({rows_, channels_}, gap_);
  ExpectSums(Call(MaskedScaleRows, dz_, g));
  EXPECT_TRUE(Near(g.const_view(), ScaledDy(), 1));
}

TEST_P(MaskedRowKernelTest, AccumulatesTheScaledGradient) {
  TestTensor g = old_;
  ExpectSums(Call(MaskedAccumulateRows, dz_, g));
  Doubles expected = ScaledDy();
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += old_.at(i);
  EXPECT_TRUE(Near(g.const_view(), expected, 2));
}

TEST_P(RowKernelTest, BatchNormInput) {
  const TestTensor k1 = TestTensor::Random({channels_}, 30);
  const TestTensor k2 = TestTensor::Random({channels_}, 31);
  Doubles expected(dz_.elems());
  for (int64_t i = 0; i < dz_.elems(); ++i) {
    const int64_t c = i % channels_;
    expected[i] =
        double{in_.scale().at(c)} * dz_.at(i) -
        (k1.at(c) + k2.at(c) * (double{in_.x().at(i)} - in_.mean().at(c)));
  }
  auto call = [&](auto* kernel, const TestTensor& dy, TestTensor& dx) {
    kernel(rows_, channels_, Data(in_.x()), ld_, Data(in_.mean()),
           Data(in_.scale()), Data(k1), Data(k2), Data(dy), ld_, Data(dx), ld_);
    EXPECT_TRUE(dx.GapsUntouched());
  };
  TestTensor dx = PoisonedTensor({rows_, channels_}, gap_);
  call(BatchNormInputRows, dz_, dx);
  EXPECT_TRUE(Near(dx.const_view(), expected, 3));
  TestTensor in_place = dz_;
  call(BatchNormInputRows, in_place, in_place);
  EXPECT_TRUE(SameBits(in_place, dx));
  TestTensor added = old_;
  call(BatchNormInputAddRows, dz_, added);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += old_.at(i);
  EXPECT_TRUE(Near(added.const_view(), expected, 4));
}

TEST_P(RowKernelTest, AddCopyAndSum) {
  TestTensor y = old_;
  AddRows(rows_, channels_, Data(dz_), ld_, Data(y), ld_);
  TestTensor copy = PoisonedTensor({rows_, channels_}, gap_ + 1);
  CopyRows(rows_, channels_, Data(dz_), ld_, Data(copy), ld_ + 1);
  for (int64_t i = 0; i < y.elems(); ++i) {
    ASSERT_EQ(y.at(i), old_.at(i) + dz_.at(i)) << i;
    ASSERT_EQ(copy.at(i), dz_.at(i)) << i;
  }
  EXPECT_TRUE(y.GapsUntouched());
  EXPECT_TRUE(copy.GapsUntouched());
  // The contract names the order of the sum: its bits follow.
  TestTensor sum = TestTensor::Random({channels_}, 32);
  TestTensor expected = sum;
  AddColumnSums(rows_, channels_, Data(dz_), ld_, Data(sum));
  for (int64_t i = 0; i < dz_.elems(); ++i) {
    expected.at(i % channels_) += dz_.at(i);
  }
  EXPECT_TRUE(SameBits(sum, expected));
}

TEST_P(RowKernelTest, AveragePool) {
  const int64_t width = rows_;
  const TestTensor x0 = TestTensor::Random({2 * width, channels_}, 40, gap_);
  const TestTensor x1 = TestTensor::Random({2 * width, channels_}, 41, gap_);
  TestTensor y = PoisonedTensor({width, channels_}, gap_);
  AveragePoolRow(width, channels_, Data(x0), Data(x1), ld_, Data(y), ld_);
  Doubles expected(width * channels_);
  for (int64_t q = 0; q < width; ++q) {
    for (int64_t c = 0; c < channels_; ++c) {
      const int64_t left = 2 * q * channels_ + c;
      const int64_t right = left + channels_;
      expected[q * channels_ + c] = 0.25 * (double{x0.at(left)} + x0.at(right) +
                                            x1.at(left) + x1.at(right));
    }
  }
  EXPECT_TRUE(Near(y.const_view(), expected, 4));
  EXPECT_TRUE(y.GapsUntouched());
}

TEST_P(RowKernelTest, DropoutDependsOnTheElementOnly) {
  const OutputDropout dropout{0.4, {7, 8, 9}};
  TestTensor x = dz_;
  dropout.Apply(0, rows_, channels_, Data(x), ld_);
  EXPECT_TRUE(x.GapsUntouched());
  EXPECT_TRUE(
      Near(x.const_view(),
           Multiply(dz_.ToDoubles(), DropoutFactors(dropout, dz_.elems())), 1));
  // Row by row, from the last.
  TestTensor split = dz_;
  for (int64_t r = rows_; r-- > 0;) {
    dropout.Apply(r, 1, channels_, Data(split) + r * ld_, ld_);
  }
  EXPECT_TRUE(SameBits(split, x));
}

const auto kShapes = ::testing::Values(
    Case{1, 1, 0}, Case{64, 1, 3}, Case{3, 5, 3}, Case{64, 12, 0},
    Case{1, 16, 3}, Case{2, 16, 0}, Case{3, 63, 0}, Case{64, 64, 3},
    Case{1, 65, 0}, Case{7, 65, 1}, Case{3, 130, 0}, Case{64, 130, 3});
INSTANTIATE_TEST_SUITE_P(Shapes, RowKernelTest, kShapes);
INSTANTIATE_TEST_SUITE_P(Shapes, MaskedRowKernelTest, kShapes);

// The mask computed again is the mask of the forward pass, also where x * scale
// + shift is a rounding error: what is behind the sum of 0 depends on how the
// product was rounded.
TEST(RowKernelMaskTest, TheMaskIsThatOfTheForwardPass) {
  constexpr int64_t kChannels = 130;
  constexpr int64_t kRows = 64;
  const TestTensor x = TestTensor::Random({kRows, kChannels}, 1);
  const TestTensor scale = TestTensor::Random({kChannels}, 2);
  TestTensor shift({kChannels});
  for (int64_t c = 0; c < kChannels; ++c) {
    shift.at(c) = -(x.at(c) * scale.at(c));  // of the first row
  }
  TestTensor repeated = x;
  for (int64_t i = 0; i < x.elems() / 2; ++i) {
    repeated.at(i) = x.at(i % kChannels);
  }
  TestTensor z({kRows, kChannels});
  AffineReluRows(kRows, kChannels, Data(repeated), kChannels, Data(scale),
                 Data(shift), Data(z), kChannels);
  const TestTensor ones = TestTensor::FromVector(
      {kRows, kChannels}, Doubles(kRows * kChannels, 1.0));
  TestTensor mask({kRows, kChannels});
  TestTensor sum({kChannels});
  TestTensor sum_x({kChannels});
  MaskedSumsRows(kRows, kChannels, Data(repeated), kChannels, Data(scale),
                 Data(shift), Data(shift), Data(ones), kChannels, Data(mask),
                 kChannels, Data(sum), Data(sum_x));
  for (int64_t i = 0; i < z.elems(); ++i) {
    ASSERT_EQ(mask.at(i), z.at(i) > 0 ? 1 : 0) << i;
  }
}

TEST(DropoutKernelTest, KeepsTheShareAndScales) {
  constexpr int64_t kElems = 100000;
  constexpr double kStandardErrors = 5;
  for (double rate : {0.0, 0.2, 0.5, 0.9}) {
    TestTensor x = TestTensor::FromVector({1, kElems}, Doubles(kElems, 1.0));
    DropoutRows({1, 2, 3}, rate, 0, 1, kElems, Data(x), kElems);
    int64_t kept = 0;
    const float scale = static_cast<float>(1 / (1 - rate));
    for (int64_t i = 0; i < kElems; ++i) {
      if (x.at(i) == 0) continue;
      ++kept;
      ASSERT_FLOAT_EQ(x.at(i), scale);
    }
    const double expected = (1 - rate) * kElems;
    EXPECT_LE(std::abs(kept - expected),
              kStandardErrors * std::sqrt(expected * rate));
  }
}

TEST(DropoutKernelTest, SeedStepAndStreamGiveDifferentMasks) {
  constexpr int64_t kElems = 1000;
  auto masked = [&](const RandomKey& key) {
    TestTensor x = TestTensor::FromVector({1, kElems}, Doubles(kElems, 1.0));
    DropoutRows(key, 0.5, 0, 1, kElems, Data(x), kElems);
    return x.ToDoubles();
  };
  const Doubles first = masked({1, 2, 3});
  EXPECT_EQ(masked({1, 2, 3}), first);
  EXPECT_NE(masked({2, 2, 3}), first);
  EXPECT_NE(masked({1, 3, 3}), first);
  EXPECT_NE(masked({1, 2, 4}), first);
}

// A net of single operations drops what the planned one drops.
TEST(DropoutKernelTest, MaskIsThatOfTheOperation) {
  const auto ctx = testing::MakeContext(1);
  const RandomKey key{4, 5, 6};
  for (double rate : {0.1, 0.2, 1.0 / 3.0, 0.7}) {
    constexpr int64_t kRows = 501, kChannels = 37;
    TestTensor x = TestTensor::FromVector({kRows, kChannels},
                                          Doubles(kRows * kChannels, 1.0));
    TestTensor y = TestTensor::FromVector({kRows, kChannels},
                                          Doubles(kRows * kChannels, 1.0));
    ASSERT_OK(Dropout(*ctx, x.const_view(), rate, key, y.view()));
    DropoutRows(key, rate, 0, kRows, kChannels, Data(x), kChannels);
    EXPECT_EQ(x.ToDoubles(), y.ToDoubles()) << rate;
  }
}

// What was NaN or infinite and is dropped is zero.
TEST(DropoutKernelTest, DropsWhateverStandsThere) {
  TestTensor x = PoisonedTensor({1, 64});
  DropoutRows({1, 2, 3}, 0.5, 0, 1, 64, Data(x), 64);
  const Doubles factors = DropoutFactors({0.5, {1, 2, 3}}, 64);
  for (int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(std::isnan(x.at(i)), factors[i] != 0) << i;
  }
}

}  // namespace
}  // namespace densenet
