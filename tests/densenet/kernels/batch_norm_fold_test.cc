#include "densenet/kernels/batch_norm_fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "densenet/kernels/row_kernels.h"
#include "tests/densenet/kernels/kernel_case.h"
#include "tests/support/compare.h"
#include "tests/support/reference_batch_norm.h"
#include "tests/support/tolerance.h"

namespace densenet {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder

constexpr double kEpsilon = 1e-5;

// A batch norm over random rows and its statistics, as float32 and exact.
class BatchNormFoldKernelTest : public ::testing::TestWithParam<int64_t> {
 protected:
  static constexpr int64_t kRows = 50;

  TestTensor Rounded(const Doubles& values) const {
    return TestTensor::FromVector({channels_}, values);
  }

  const int64_t channels_ = GetParam();
  const ReferenceBatchNorm reference_{kRows, channels_, kEpsilon};
  const TestTensor x_ = TestTensor::Random({kRows, channels_}, 1);
  const TestTensor gamma_ = TestTensor::Random({channels_}, 2);
  const TestTensor beta_ = TestTensor::Random({channels_}, 3);
  const TestTensor mean_ = Rounded(reference_.Mean(x_.ToDoubles()));
  const TestTensor variance_ = Rounded(reference_.Variance(x_.ToDoubles()));
  const TestTensor inv_std_ =
      Rounded(reference_.InverseStd(variance_.ToDoubles()));
};

TEST_P(BatchNormFoldKernelTest, ScaleAndShiftAreTheBatchNorm) {
  Doubles scale(channels_), shift(channels_);
  for (int64_t c = 0; c < channels_; ++c) {
    scale[c] = double{gamma_.at(c)} * inv_std_.at(c);
    shift[c] = beta_.at(c) - mean_.at(c) * scale[c];
  }
  TestTensor s({channels_}), t({channels_});
  FoldBatchNorm(channels_, Data(gamma_), Data(beta_), Data(mean_),
                Data(inv_std_), Data(s), Data(t));
  EXPECT_TRUE(Near(s.const_view(), scale, 1));
  EXPECT_TRUE(Near(t.const_view(), shift, 2));
  TestTensor running_s({channels_}), running_t({channels_});
  FoldRunningBatchNorm(channels_, Data(gamma_), Data(beta_), Data(mean_),
                       Data(variance_), kEpsilon, Data(running_s),
                       Data(running_t));
  EXPECT_TRUE(Near(running_s.const_view(), scale, 1));
  EXPECT_TRUE(Near(running_t.const_view(), shift, 2));
}

TEST_P(BatchNormFoldKernelTest, RunningAverageTakesMomentumOfTheBatch) {
  for (double momentum : {0.1, 0.9, 1.0}) {
    TestTensor running = variance_;
    UpdateRunning(channels_, Data(mean_), momentum, Data(running));
    Doubles expected(channels_);
    for (int64_t c = 0; c < channels_; ++c) {
      expected[c] = (1 - momentum) * variance_.at(c) + momentum * mean_.at(c);
    }
    EXPECT_TRUE(Near(running.const_view(), expected, 1));
  }
}

TEST_P(BatchNormFoldKernelTest, GradientSumsAddChunks) {
  for (int64_t chunks : {1, 3, 16}) {
    const TestTensor values = TestTensor::Random({chunks, 2, channels_}, 4);
    const Doubles partials = values.ToDoubles();
    Doubles d_gamma(channels_, 0.0), d_beta(channels_, 0.0);
    for (int64_t i = 0; i < chunks; ++i) {
      for (int64_t c = 0; c < channels_; ++c) {
        d_beta[c] += partials[2 * i * channels_ + c];
        d_gamma[c] += partials[(2 * i + 1) * channels_ + c] * inv_std_.at(c);
      }
    }
    TestTensor dg = PoisonedTensor({channels_});
    TestTensor db = PoisonedTensor({channels_});
    ReduceGradientSums(partials.data(), chunks, channels_, Data(inv_std_),
                       Data(dg), Data(db));
    EXPECT_TRUE(Near(dg.const_view(), d_gamma, 1));
    EXPECT_TRUE(Near(db.const_view(), d_beta, 1));
  }
}

// Row sums, coefficients and the row kernel together are the gradient of batch
// norm in training.
TEST_P(BatchNormFoldKernelTest, InputGradientIsThatOfBatchNorm) {
  const TestTensor dy = TestTensor::Random({kRows, channels_}, 5);
  const ReferenceBatchNorm::Gradients expected = reference_.Backward(
      x_.ToDoubles(), dy.ToDoubles(), gamma_.ToDoubles(),
      reference_.Mean(x_.ToDoubles()), reference_.Variance(x_.ToDoubles()),
      /*train=*/true);
  const TestTensor d_gamma = Rounded(expected.dgamma);
  const TestTensor d_beta = Rounded(expected.dbeta);
  TestTensor k1({channels_}), k2({channels_}), s({channels_}), t({channels_});
  InputGradientCoefficients(channels_, Data(gamma_), Data(inv_std_),
                            Data(d_gamma), Data(d_beta), kRows, Data(k1),
                            Data(k2));
  FoldBatchNorm(channels_, Data(gamma_), Data(beta_), Data(mean_),
                Data(inv_std_), Data(s), Data(t));
  TestTensor dx = PoisonedTensor({kRows, channels_});
  BatchNormInputRows(kRows, channels_, Data(x_), channels_, Data(mean_),
                     Data(s), Data(k1), Data(k2), Data(dy), channels_, Data(dx),
                     channels_);
  EXPECT_TRUE(Near(dx.const_view(), expected.dx, kRows));
}

// A channel with two readers: their corrections add up, and are applied once.
TEST_P(BatchNormFoldKernelTest, CorrectionsOfReadersAddUp) {
  const Doubles x = x_.ToDoubles();
  const Doubles mean = reference_.Mean(x);
  const Doubles variance = reference_.Variance(x);
  Doubles p = Poisoned<double>(channels_), q = Poisoned<double>(channels_);
  Doubles expected(x.size(), 0.0);
  TestTensor g({kRows, channels_});
  for (int reader = 0; reader < 2; ++reader) {
    const TestTensor gamma = TestTensor::Random({channels_}, 10 + reader);
    const TestTensor dy = TestTensor::Random({kRows, channels_}, 20 + reader);
    const ReferenceBatchNorm::Gradients gradients = reference_.Backward(
        x, dy.ToDoubles(), gamma.ToDoubles(), mean, variance, /*train=*/true);
    const TestTensor d_gamma = Rounded(gradients.dgamma);
    const TestTensor d_beta = Rounded(gradients.dbeta);
    AddCorrection(channels_, Data(gamma), Data(d_gamma), Data(d_beta),
                  /*overwrite=*/reader == 0, p.data(), q.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t c = static_cast<int64_t>(i) % channels_;
      expected[i] += gradients.dx[i];
      g.at(i) += gamma.at(c) * inv_std_.at(c) * dy.at(i);
    }
  }
  TestTensor k1({channels_}), k2({channels_});
  CorrectionCoefficients(channels_, Data(inv_std_), p.data(), q.data(), kRows,
                         Data(k1), Data(k2));
  const TestTensor ones = Rounded(Doubles(channels_, 1.0));
  BatchNormInputRows(kRows, channels_, Data(x_), channels_, Data(mean_),
                     Data(ones), Data(k1), Data(k2), Data(g), channels_,
                     Data(g), channels_);
  EXPECT_TRUE(Near(g.const_view(), expected, kRows));
}

INSTANTIATE_TEST_SUITE_P(Channels, BatchNormFoldKernelTest,
                         ::testing::ValuesIn(kChannelCounts));

// Where |mean| is far above the deviation, y = x * scale + shift is the small
// difference of large numbers: shift must fit the rounded scale.
TEST(BatchNormFoldRangeKernelTest, LargeMeans) {
  constexpr double kRatio = 1000;
  constexpr double kDeviation = 0.37;
  const float gamma = 1.1f, beta = 0.3f;
  const float mean = static_cast<float>(kRatio * kDeviation);
  const float inv_std = static_cast<float>(1 / kDeviation);
  float scale, shift;
  FoldBatchNorm(1, &gamma, &beta, &mean, &inv_std, &scale, &shift);
  for (int i = -2; i <= 2; ++i) {
    const float x = static_cast<float>(mean + i * kDeviation);
    const double expected = double{gamma} * (double{x} - mean) * inv_std + beta;
    const double y = double{x} * scale + shift;
    EXPECT_LE(std::abs(y - expected),
              kRatio * Roundoff(DType::kFloat32) * gamma +
                  RelativeTolerance(DType::kFloat32, 1) * std::abs(expected));
  }
}

}  // namespace
}  // namespace densenet
