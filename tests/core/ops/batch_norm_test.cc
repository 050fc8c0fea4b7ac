#include "core/ops/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>

#include "core/ops/batch_norm_math.h"
#include "tests/support/compare.h"
#include "tests/support/gradient_check.h"
#include "tests/support/make_context.h"
#include "tests/support/reference_batch_norm.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"
#include "tests/support/test_workspace.h"
#include "tests/support/tolerance.h"

namespace densenet {
namespace {

using testing::BitwiseEqual;
using testing::Dot;
using testing::Fails;
using testing::GradientMatches;
using testing::MakeContext;
using testing::Near;
using testing::ReferenceBatchNorm;
using testing::TestTensor;
using testing::TestWorkspace;
using Doubles = std::vector<double>;

// gamma, beta and statistics away from their defaults.
struct Layer {
  TestTensor gamma, beta, running_mean, running_var;

  explicit Layer(int64_t channels)
      : gamma(TestTensor::Random({channels}, 11)),
        beta(TestTensor::Random({channels}, 12)),
        running_mean(TestTensor::Random({channels}, 13)),
        running_var(TestTensor::Random({channels}, 14)) {
    for (int64_t c = 0; c < channels; ++c) {
      running_var.at(c) = 0.5f + std::abs(running_var.at(c));
    }
  }
};

// Everything the operations compute from one x and dy.
struct BatchNormRun {
  TestTensor x, dy;
  Layer before, after;
  TestTensor y, mean, inv_std, dx, dgamma, dbeta;
  TestTensor eval_y, frozen_dx, frozen_dgamma, frozen_dbeta;

  BatchNormRun(const Shape& shape, int threads, int64_t gap,
               const BatchNormParams& params)
      : x(TestTensor::Random(shape, 1, gap)),
        dy(TestTensor::Random(shape, 2, 2 * gap)),
        before(shape[-1]),
        after(before),
        y(shape, 3 * gap),
        mean({shape[-1]}),
        inv_std({shape[-1]}),
        dx(shape, gap),
        dgamma({shape[-1]}),
        dbeta({shape[-1]}),
        eval_y(shape, gap),
        frozen_dx(shape, gap),
        frozen_dgamma({shape[-1]}),
        frozen_dbeta({shape[-1]}) {
    const auto ctx = MakeContext(threads);
    TestWorkspace scratch(*BatchNormWorkspaceBytes(*ctx, x.view()));
    const auto gamma = before.gamma.const_view();
    EXPECT_OK(BatchNormTrain(*ctx, x.view(), gamma, before.beta.view(), params,
                             y.view(), mean.view(), inv_std.view(),
                             after.running_mean.view(),
                             after.running_var.view(), scratch.span()));
    EXPECT_OK(BatchNormTrainBackward(
        *ctx, x.view(), dy.view(), gamma, mean.view(), inv_std.view(),
        dx.view(), dgamma.view(), dbeta.view(), scratch.span()));
    const auto running_mean = before.running_mean.const_view();
    const auto running_var = before.running_var.const_view();
    EXPECT_OK(BatchNormEval(*ctx, x.view(), gamma, before.beta.view(),
                            running_mean, running_var, params, eval_y.view()));
    EXPECT_OK(BatchNormFrozenBackward(*ctx, x.view(), dy.view(), gamma,
                                      running_mean, running_var, params,
                                      frozen_dx.view(), frozen_dgamma.view(),
                                      frozen_dbeta.view(), scratch.span()));
    EXPECT_TRUE(scratch.Intact());
  }
};

class BatchNormTest
    : public ::testing::TestWithParam<std::tuple<Shape, int64_t>> {
 protected:
  const Shape& shape() const { return std::get<0>(GetParam()); }
  int64_t gap() const { return std::get<1>(GetParam()); }
  int64_t rows() const { return shape().elems() / shape()[-1]; }
  ReferenceBatchNorm reference() const {
    return {rows(), shape()[-1], params_.epsilon};
  }

  // momentum away from 0.5, so that the two weights cannot be swapped.
  BatchNormParams params_{1e-3, 0.2};
};

TEST_P(BatchNormTest, TrainAgreesWithReference) {
  const BatchNormRun run(shape(), 2, gap(), params_);
  const ReferenceBatchNorm ref = reference();
  const Doubles x = run.x.ToDoubles();
  const Doubles mean = ref.Mean(x);
  const Doubles variance = ref.Variance(x);
  const Doubles gamma = run.before.gamma.ToDoubles();
  EXPECT_TRUE(Near(run.mean.view(), mean, rows()));
  EXPECT_TRUE(Near(run.inv_std.view(), ref.InverseStd(variance), rows()));
  EXPECT_TRUE(
      Near(run.y.view(),
           ref.Apply(x, gamma, run.before.beta.ToDoubles(), mean, variance),
           rows()));
  const auto gradients = ref.Backward(x, run.dy.ToDoubles(), gamma, mean,
                                      variance, /*train=*/true);
  EXPECT_TRUE(Near(run.dx.view(), gradients.dx, rows()));
  EXPECT_TRUE(Near(run.dgamma.view(), gradients.dgamma, rows()));
  EXPECT_TRUE(Near(run.dbeta.view(), gradients.dbeta, rows()));
  EXPECT_TRUE(run.y.GapsUntouched());
  EXPECT_TRUE(run.dx.GapsUntouched());
}

TEST_P(BatchNormTest, RunningAveragesAdvance) {
  const BatchNormRun run(shape(), 2, gap(), params_);
  const ReferenceBatchNorm ref = reference();
  const Doubles mean = ref.Mean(run.x.ToDoubles());
  const Doubles variance = ref.Variance(run.x.ToDoubles());
  const double m = static_cast<double>(rows());
  Doubles expected_mean = run.before.running_mean.ToDoubles();
  Doubles expected_var = run.before.running_var.ToDoubles();
  for (size_t c = 0; c < mean.size(); ++c) {
    expected_mean[c] += params_.momentum * (mean[c] - expected_mean[c]);
    expected_var[c] +=
        params_.momentum * (variance[c] * m / (m - 1) - expected_var[c]);
  }
  EXPECT_TRUE(Near(run.after.running_mean.view(), expected_mean, rows()));
  EXPECT_TRUE(Near(run.after.running_var.view(), expected_var, rows()));
}

TEST_P(BatchNormTest, EvalAndFrozenAgreeWithReference) {
  const BatchNormRun run(shape(), 2, gap(), params_);
  const ReferenceBatchNorm ref = reference();
  const Doubles x = run.x.ToDoubles();
  const Doubles gamma = run.before.gamma.ToDoubles();
  const Doubles mean = run.before.running_mean.ToDoubles();
  const Doubles variance = run.before.running_var.ToDoubles();
  EXPECT_TRUE(Near(
      run.eval_y.view(),
      ref.Apply(x, gamma, run.before.beta.ToDoubles(), mean, variance), 1));
  const auto gradients = ref.Backward(x, run.dy.ToDoubles(), gamma, mean,
                                      variance, /*train=*/false);
  EXPECT_TRUE(Near(run.frozen_dx.view(), gradients.dx, 1));
  EXPECT_TRUE(Near(run.frozen_dgamma.view(), gradients.dgamma, rows()));
  EXPECT_TRUE(Near(run.frozen_dbeta.view(), gradients.dbeta, rows()));
  EXPECT_TRUE(run.eval_y.GapsUntouched());
  EXPECT_TRUE(run.frozen_dx.GapsUntouched());
}

TEST_P(BatchNormTest, DependsOnNeitherThreadsNorStrides) {
  const BatchNormRun one(shape(), 1, gap(), params_);
  for (int threads : {1, 2, 3}) {
    const BatchNormRun other(shape(), threads, 5, params_);
    const auto same = [&](TestTensor BatchNormRun::*tensor) {
      return BitwiseEqual((one.*tensor).const_view(),
                          (other.*tensor).const_view());
    };
    EXPECT_TRUE(same(&BatchNormRun::y));
    EXPECT_TRUE(same(&BatchNormRun::mean));
    EXPECT_TRUE(same(&BatchNormRun::inv_std));
    EXPECT_TRUE(same(&BatchNormRun::dx));
    EXPECT_TRUE(same(&BatchNormRun::dgamma));
    EXPECT_TRUE(same(&BatchNormRun::dbeta));
    EXPECT_TRUE(same(&BatchNormRun::eval_y));
    EXPECT_TRUE(same(&BatchNormRun::frozen_dx));
    EXPECT_TRUE(same(&BatchNormRun::frozen_dgamma));
    EXPECT_TRUE(same(&BatchNormRun::frozen_dbeta));
    EXPECT_TRUE(BitwiseEqual(one.after.running_mean.const_view(),
                             other.after.running_mean.const_view()));
    EXPECT_TRUE(BitwiseEqual(one.after.running_var.const_view(),
                             other.after.running_var.const_view()));
  }
}

// A recomputed forward has the same bits and no side effects.
TEST_P(BatchNormTest, ApplyRepeatsTrain) {
  const BatchNormRun run(shape(), 2, gap(), params_);
  const auto ctx = MakeContext(2);
  TestWorkspace scratch(*BatchNormWorkspaceBytes(*ctx, run.x.view()));
  TestTensor mean({shape()[-1]});
  TestTensor inv_std({shape()[-1]});
  ASSERT_OK(BatchNormStatistics(*ctx, run.x.view(), params_, mean.view(),
                                inv_std.view(), {}, {}, scratch.span()));
  EXPECT_TRUE(BitwiseEqual(mean.const_view(), run.mean.view()));
  EXPECT_TRUE(BitwiseEqual(inv_std.const_view(), run.inv_std.view()));
  TestTensor y = run.x;  // in place
  ASSERT_OK(BatchNormApply(*ctx, y.const_view(), run.before.gamma.view(),
                           run.before.beta.view(), mean.view(), inv_std.view(),
                           y.view()));
  EXPECT_TRUE(BitwiseEqual(y.const_view(), run.y.view()));
  TestTensor dx = run.dy;  // in place
  TestTensor dgamma({shape()[-1]});
  TestTensor dbeta({shape()[-1]});
  ASSERT_OK(BatchNormTrainBackward(
      *ctx, run.x.view(), dx.const_view(), run.before.gamma.view(),
      mean.const_view(), inv_std.const_view(), dx.view(), dgamma.view(),
      dbeta.view(), scratch.span()));
  EXPECT_TRUE(BitwiseEqual(dx.const_view(), run.dx.view()));
}

INSTANTIATE_TEST_SUITE_P(
    All, BatchNormTest,
    ::testing::Combine(::testing::Values(Shape{2, 1}, Shape{7, 5},
                                         Shape{2, 3, 5, 31}, Shape{1, 1, 3, 16},
                                         Shape{3, 9, 11, 65},
                                         Shape{8, 33, 32, 24},
                                         Shape{2, 8, 8, 200}),
                       ::testing::Values(int64_t{0}, int64_t{3})));

TEST(BatchNormReferenceTest, GradientsAreCentralDifferences) {
  const ReferenceBatchNorm ref{15, 4, 1e-3};
  const Doubles x = TestTensor::Random({15, 4}, 1).ToDoubles();
  const Doubles dy = TestTensor::Random({15, 4}, 2).ToDoubles();
  const Layer layer(4);
  const Doubles gamma = layer.gamma.ToDoubles();
  const Doubles beta = layer.beta.ToDoubles();
  for (bool train : {true, false}) {
    SCOPED_TRACE(train ? "train" : "frozen");
    const auto loss = [&](const Doubles& vx, const Doubles& vg,
                          const Doubles& vb) {
      return Dot(
          ref.Apply(vx, vg, vb,
                    train ? ref.Mean(vx) : layer.running_mean.ToDoubles(),
                    train ? ref.Variance(vx) : layer.running_var.ToDoubles()),
          dy);
    };
    const auto gradients = ref.Backward(
        x, dy, gamma, train ? ref.Mean(x) : layer.running_mean.ToDoubles(),
        train ? ref.Variance(x) : layer.running_var.ToDoubles(), train);
    EXPECT_TRUE(
        GradientMatches([&](const auto& v) { return loss(v, gamma, beta); }, x,
                        gradients.dx, 3));
    EXPECT_TRUE(GradientMatches([&](const auto& v) { return loss(x, v, beta); },
                                gamma, gradients.dgamma, 4));
    EXPECT_TRUE(
        GradientMatches([&](const auto& v) { return loss(x, gamma, v); }, beta,
                        gradients.dbeta, 5));
  }
}

// Plain sums of squares lose everything here: 1000^2 against 1.
TEST(BatchNormEdgeTest, MeanAThousandDeviationsAway) {
  const auto ctx = MakeContext(2);
  const Shape shape{4, 16, 16, 3};
  TestTensor x = TestTensor::Random(shape, 1);
  for (int64_t i = 0; i < x.elems(); ++i) {
    x.at(i) = 1000 + std::sqrt(3.0f) * x.at(i);
  }
  const ReferenceBatchNorm ref{1024, 3, 1e-5};
  const Doubles variance = ref.Variance(x.ToDoubles());
  TestTensor mean({3});
  TestTensor inv_std({3});
  TestWorkspace scratch(*BatchNormWorkspaceBytes(*ctx, x.view()));
  ASSERT_OK(BatchNormStatistics(*ctx, x.view(), {}, mean.view(), inv_std.view(),
                                {}, {}, scratch.span()));
  // The mean of a float32 tensor, correctly rounded but for its last bit.
  EXPECT_TRUE(Near(mean.const_view(), ref.Mean(x.ToDoubles()), 1));
  EXPECT_TRUE(
      Near(inv_std.const_view(), ref.InverseStd(variance), shape.elems() / 3));
  // The gradient takes x - mean, which is exact up to the rounding of mean:
  // half a unit in the last place of 1000, relative to a deviation of 1.
  const TestTensor dy = TestTensor::Random(shape, 2);
  const TestTensor gamma = TestTensor::FromVector({3}, {1, 2, 3});
  TestTensor dx(shape);
  TestTensor dgamma({3});
  TestTensor dbeta({3});
  ASSERT_OK(BatchNormTrainBackward(*ctx, x.view(), dy.view(), gamma.view(),
                                   mean.const_view(), inv_std.const_view(),
                                   dx.view(), dgamma.view(), dbeta.view(),
                                   scratch.span()));
  const auto gradients =
      ref.Backward(x.ToDoubles(), dy.ToDoubles(), gamma.ToDoubles(),
                   ref.Mean(x.ToDoubles()), variance, true);
  EXPECT_LE(testing::RelativeNorm(dx.ToDoubles(), gradients.dx),
            1000 * testing::Roundoff(DType::kFloat32));
}

TEST(BatchNormEdgeTest, ConstantChannelHasNoVariance) {
  const auto ctx = MakeContext(1);
  TestTensor x({64, 2});
  for (int64_t i = 0; i < x.elems(); ++i) x.at(i) = 0.1f;
  TestTensor mean({2});
  TestTensor inv_std({2});
  TestWorkspace scratch(*BatchNormWorkspaceBytes(*ctx, x.view()));
  const BatchNormParams params{1e-4, 0.1};
  ASSERT_OK(BatchNormStatistics(*ctx, x.view(), params, mean.view(),
                                inv_std.view(), {}, {}, scratch.span()));
  EXPECT_EQ(mean.at(0), 0.1f);
  EXPECT_TRUE(Near(inv_std.const_view(), {100, 100}, 1));
}

// One rounding an element on every instruction set, whatever the tail.
TEST(BatchNormEdgeTest, ApplyIsOneFusedMultiplyAdd) {
  const auto ctx = MakeContext(1);
  for (int64_t channels : {1, 3, 7, 16, 31, 64, 131}) {
    const Layer layer(channels);
    const TestTensor x = TestTensor::Random({5, channels}, 1);
    TestTensor y({5, channels});
    TestTensor expected({5, channels});
    const TestTensor inv_std = TestTensor::Random({channels}, 2);
    for (int64_t i = 0; i < x.elems(); ++i) {
      const int64_t c = i % channels;
      const ScaleShift s =
          BatchNormScaleShift(layer.gamma.at(c), layer.beta.at(c),
                              layer.running_mean.at(c), inv_std.at(c));
      expected.at(i) = std::fma(x.at(i), s.scale, s.shift);
    }
    ASSERT_OK(BatchNormApply(*ctx, x.view(), layer.gamma.view(),
                             layer.beta.view(), layer.running_mean.view(),
                             inv_std.view(), y.view()));
    EXPECT_TRUE(BitwiseEqual(y.const_view(), expected.const_view()));
  }
}

TEST(MomentsTest, MergeIsTheWhole) {
  const Doubles values = TestTensor::Random({40}, 1).ToDoubles();
  const auto of = [&](size_t begin, size_t end) {
    Moments m{static_cast<int64_t>(end - begin), 0, 0};
    for (size_t i = begin; i < end; ++i) m.mean += values[i];
    m.mean /= static_cast<double>(m.count);
    for (size_t i = begin; i < end; ++i) {
      m.m2 += (values[i] - m.mean) * (values[i] - m.mean);
    }
    return m;
  };
  const double tolerance = testing::RelativeTolerance(DType::kFloat64, 40);
  const Moments whole = of(0, 40);
  for (size_t cut : {1, 7, 39}) {
    const Moments merged = MergeMoments(of(0, cut), of(cut, 40));
    EXPECT_EQ(merged.count, 40);
    EXPECT_NEAR(merged.mean, whole.mean, tolerance);
    EXPECT_NEAR(merged.m2, whole.m2, tolerance * whole.m2);
  }
  EXPECT_EQ(MergeMoments({}, whole).m2, whole.m2);
  EXPECT_EQ(MergeMoments(whole, {}).mean, whole.mean);
}

class BatchNormErrorTest : public ::testing::Test {
 protected:
  Status Train(const BatchNormParams& params) {
    return BatchNormTrain(*ctx_, x_.view(), layer_.gamma.view(),
                          layer_.beta.view(), params, y_.view(), mean_.view(),
                          inv_std_.view(), layer_.running_mean.view(),
                          layer_.running_var.view(), scratch_.span());
  }

  static constexpr auto kInvalid = StatusCode::kInvalidArgument;
  std::unique_ptr<Context> ctx_ = MakeContext(1);
  Layer layer_{3};
  TestTensor x_ = TestTensor::Random({4, 3}, 1);
  TestTensor y_{{4, 3}};
  TestTensor mean_{{3}};
  TestTensor inv_std_{{3}};
  TestTensor wrong_{{4}};
  TestWorkspace scratch_{1 << 16};
};

TEST_F(BatchNormErrorTest, OneValueHasNoVariance) {
  const TestTensor x({1, 1, 1, 3});
  EXPECT_THAT(BatchNormStatistics(*ctx_, x.view(), {}, mean_.view(),
                                  inv_std_.view(), {}, {}, scratch_.span()),
              Fails(kInvalid, {"BatchNormStatistics", "(1, 1, 1, 3)",
                               "one value per channel", "larger batch"}));
}

TEST_F(BatchNormErrorTest, Params) {
  EXPECT_THAT(Train({1e-5, 1.5}),
              Fails(kInvalid, {"momentum is 1.5", "[0, 1]"}));
  EXPECT_THAT(Train({1e-5, -0.1}), Fails(kInvalid, {"momentum"}));
  EXPECT_THAT(Train({-1, 0.1}), Fails(kInvalid, {"epsilon is -1"}));
  EXPECT_THAT(Train({std::nan(""), 0.1}), Fails(kInvalid, {"epsilon"}));
}

TEST_F(BatchNormErrorTest, RunningAveragesComeTogether) {
  EXPECT_THAT(
      BatchNormStatistics(*ctx_, x_.view(), {}, mean_.view(), inv_std_.view(),
                          layer_.running_mean.view(), {}, scratch_.span()),
      Fails(kInvalid, {"running_mean and running_var must both"}));
}

TEST_F(BatchNormErrorTest, AFailedCallLeavesRunningAveragesAlone) {
  const Layer before = layer_;
  const TestTensor beta({4});
  EXPECT_THAT(
      BatchNormTrain(*ctx_, x_.view(), layer_.gamma.view(), beta.view(), {},
                     y_.view(), mean_.view(), inv_std_.view(),
                     layer_.running_mean.view(), layer_.running_var.view(),
                     scratch_.span()),
      Fails(kInvalid, {"BatchNormTrain: beta has shape (4), must be (3)"}));
  scratch_ = TestWorkspace(64);
  EXPECT_THAT(Train({}), Fails(kInvalid, {"workspace of 64 bytes, needs"}));
  EXPECT_TRUE(BitwiseEqual(before.running_mean.view(),
                           layer_.running_mean.const_view()));
  EXPECT_TRUE(
      BitwiseEqual(before.running_var.view(), layer_.running_var.const_view()));
}

TEST_F(BatchNormErrorTest, ShapesOfEveryFunction) {
  const TestTensor vector({3});
  EXPECT_THAT(BatchNormWorkspaceBytes(*ctx_, vector.view()),
              Fails(kInvalid, {"x has shape (3), must have rank 2 or more"}));
  TestTensor other({4, 4});
  EXPECT_THAT(
      BatchNormApply(*ctx_, x_.view(), layer_.gamma.view(), layer_.beta.view(),
                     mean_.view(), inv_std_.view(), other.view()),
      Fails(kInvalid, {"BatchNormApply: y has shape (4, 4), must be (4, 3)"}));
  EXPECT_THAT(
      BatchNormEval(*ctx_, x_.view(), layer_.gamma.view(), layer_.beta.view(),
                    wrong_.view(), layer_.running_var.view(), {}, y_.view()),
      Fails(kInvalid, {"BatchNormEval: running_mean has shape (4)"}));
  TestTensor dgamma({3});
  TestTensor dbeta({3});
  EXPECT_THAT(BatchNormTrainBackward(
                  *ctx_, x_.view(), other.view(), layer_.gamma.view(),
                  mean_.const_view(), inv_std_.const_view(), y_.view(),
                  dgamma.view(), dbeta.view(), scratch_.span()),
              Fails(kInvalid, {"BatchNormTrainBackward: dy has shape (4, 4)"}));
  EXPECT_THAT(
      BatchNormFrozenBackward(*ctx_, x_.view(), y_.const_view(),
                              layer_.gamma.view(), layer_.running_mean.view(),
                              layer_.running_var.view(), {}, y_.view(),
                              wrong_.view(), dbeta.view(), scratch_.span()),
      Fails(kInvalid, {"BatchNormFrozenBackward: dgamma has shape (4)"}));
  EXPECT_THAT(
      BatchNormFrozenBackward(*ctx_, x_.view(), y_.const_view(),
                              layer_.gamma.view(), layer_.running_mean.view(),
                              layer_.running_var.view(), {}, y_.view(),
                              dgamma.view(), dbeta.view(), {}),
      Fails(kInvalid, {"BatchNormFrozenBackward: workspace of 0 bytes"}));
}

}  // namespace
}  // namespace densenet
