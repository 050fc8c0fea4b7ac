#include "core/ops/max_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/gradient_check.h"
#include "tests/support/make_context.h"
#include "tests/support/pool_cases.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using testing::BitwiseEqual;
using testing::Dot;
using testing::Fails;
using testing::GradientMatches;
using testing::MakeContext;
using testing::Near;
using testing::PoolCase;
using testing::PoolCases;
using testing::ReferenceOf;
using testing::ReferencePool;
using testing::TestTensor;

struct PoolRun {
  TestTensor x, dy, y, dx;

  PoolRun(const PoolCase& pool, int threads, int64_t gap)
      : x(TestTensor::Random(pool.x, 1, gap)),
        dy(TestTensor::Random(*MaxPoolOutputShape(pool.x, pool.params), 2,
                              2 * gap)),
        y(dy.shape(), gap),
        dx(pool.x, 3 * gap) {
    const auto ctx = MakeContext(threads);
    EXPECT_OK(MaxPool(*ctx, x.view(), pool.params, y.view()));
    EXPECT_OK(
        MaxPoolBackward(*ctx, x.view(), dy.view(), pool.params, dx.view()));
  }
};

class MaxPoolTest
    : public ::testing::TestWithParam<std::tuple<PoolCase, int64_t>> {
 protected:
  const PoolCase& pool() const { return std::get<0>(GetParam()); }
  PoolRun Run(int threads) const {
    return PoolRun(pool(), threads, std::get<1>(GetParam()));
  }
};

TEST_P(MaxPoolTest, AgreesWithReference) {
  const PoolRun run = Run(2);
  const ReferencePool reference = ReferenceOf(pool(), false);
  const auto x = run.x.ToDoubles();
  const auto dy = run.dy.ToDoubles();
  EXPECT_TRUE(Near(run.y.view(), reference.Max(x), 0));
  EXPECT_TRUE(
      Near(run.dx.view(), reference.MaxBackward(x, dy), pool().window()));
  EXPECT_TRUE(run.y.GapsUntouched());
  EXPECT_TRUE(run.dx.GapsUntouched());
}

TEST_P(MaxPoolTest, DoesNotDependOnThreads) {
  const PoolRun one = Run(1);
  for (int threads : {2, 3}) {
    const PoolRun other = Run(threads);
    EXPECT_TRUE(BitwiseEqual(one.y.view(), other.y.view()));
    EXPECT_TRUE(BitwiseEqual(one.dx.view(), other.dx.view()));
  }
}

TEST_P(MaxPoolTest, GradientsAreCentralDifferences) {
  const ReferencePool reference = ReferenceOf(pool(), false);
  const auto dy =
      TestTensor::Random(*MaxPoolOutputShape(pool().x, pool().params), 2)
          .ToDoubles();
  // Every value distinct by far more than a step.
  std::vector<double> apart(pool().x.elems());
  for (size_t i = 0; i < apart.size(); ++i) {
    apart[i] = static_cast<double>(i * 7919 % apart.size()) /
               static_cast<double>(apart.size());
  }
  EXPECT_TRUE(
      GradientMatches([&](const auto& v) { return Dot(reference.Max(v), dy); },
                      apart, reference.MaxBackward(apart, dy), 4));
}

INSTANTIATE_TEST_SUITE_P(All, MaxPoolTest,
                         ::testing::Combine(::testing::ValuesIn(PoolCases()),
                                            ::testing::Values(int64_t{0},
                                                              int64_t{3})),
                         [](const auto& param) {
                           return std::get<0>(param.param).name +
                                  (std::get<1>(param.param) == 0 ? "Packed"
                                                                 : "Strided");
                         });

TEST(MaxPoolRuleTest, TiesGoToTheFirstElement) {
  const auto ctx = MakeContext(1);
  const PoolParams params{2, 2, {1, 1}, Padding::Valid()};
  // Both windows of the single row of outputs see equal maxima.
  const TestTensor x = TestTensor::FromVector({1, 2, 3, 1}, {1, 5, 5, 5, 5, 1});
  const TestTensor dy = TestTensor::FromVector({1, 1, 2, 1}, {10, 100});
  TestTensor dx({1, 2, 3, 1});
  ASSERT_OK(MaxPoolBackward(*ctx, x.view(), dy.view(), params, dx.view()));
  EXPECT_EQ(dx.ToDoubles(), std::vector<double>({0, 110, 0, 0, 0, 0}));
}

TEST(MaxPoolRuleTest, PaddingNeverWinsAndNanDoes) {
  const auto ctx = MakeContext(1);
  const PoolParams params{3, 3, {1, 1}, Padding::Same()};
  TestTensor x = TestTensor::FromVector({1, 2, 2, 1}, {-4, -3, -2, -1});
  TestTensor y({1, 2, 2, 1});
  ASSERT_OK(MaxPool(*ctx, x.view(), params, y.view()));
  EXPECT_EQ(y.ToDoubles(), std::vector<double>({-1, -1, -1, -1}));
  x.at(1) = std::numeric_limits<float>::quiet_NaN();
  ASSERT_OK(MaxPool(*ctx, x.view(), params, y.view()));
  for (int64_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(y.at(i)));
  const TestTensor dy = TestTensor::FromVector({1, 2, 2, 1}, {1, 2, 3, 4});
  TestTensor dx({1, 2, 2, 1});
  ASSERT_OK(MaxPoolBackward(*ctx, x.view(), dy.view(), params, dx.view()));
  EXPECT_EQ(dx.ToDoubles(), std::vector<double>({0, 10, 0, 0}));
}

TEST(MaxPoolErrorTest, Shapes) {
  const auto ctx = MakeContext(1);
  const PoolParams params{2, 2, {2, 2}, Padding::Valid()};
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  TestTensor x({2, 4, 4, 3});
  TestTensor y({2, 2, 2, 4});
  EXPECT_THAT(MaxPool(*ctx, x.view(), params, y.view()),
              Fails(kInvalid, {"MaxPool: y has shape (2, 2, 2, 4), must be "
                               "(2, 2, 2, 3)"}));
  EXPECT_THAT(MaxPoolBackward(*ctx, x.view(), y.view(), params, x.view()),
              Fails(kInvalid, {"MaxPoolBackward: dy has shape"}));
  const TestTensor dy({2, 2, 2, 3});
  TestTensor dx({2, 4, 5, 3});
  EXPECT_THAT(MaxPoolBackward(*ctx, x.view(), dy.view(), params, dx.view()),
              Fails(kInvalid, {"dx has shape (2, 4, 5, 3)"}));
  const TestTensor matrix({4, 3});
  EXPECT_THAT(MaxPool(*ctx, matrix.view(), params, y.view()),
              Fails(kInvalid, {"x has shape (4, 3), must have rank 4"}));
  EXPECT_THAT(MaxPoolOutputShape(matrix.shape(), params),
              Fails(kInvalid, {"must have rank 4"}));
  EXPECT_THAT(MaxPoolOutputShape(x.shape(), {5, 5, {1, 1}, Padding::Valid()}),
              Fails(kInvalid, {"window of 5 x 5 does not fit"}));
}

}  // namespace
}  // namespace densenet
