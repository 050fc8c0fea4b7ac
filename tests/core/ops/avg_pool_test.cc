#include "core/ops/avg_pool.h"

#include <gtest/gtest.h>

#include <tuple>

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

  PoolRun(const PoolCase& pool, int threads, int64_t gap,
          AvgPoolDivisor divisor)
      : x(TestTensor::Random(pool.x, 1, gap)),
        dy(TestTensor::Random(*AvgPoolOutputShape(pool.x, pool.params), 2,
                              2 * gap)),
        y(dy.shape(), gap),
        dx(pool.x, 3 * gap) {
    const auto ctx = MakeContext(threads);
    EXPECT_OK(AvgPool(*ctx, x.view(), pool.params, divisor, y.view()));
    EXPECT_OK(
        AvgPoolBackward(*ctx, dy.view(), pool.params, divisor, dx.view()));
  }
};

class AvgPoolTest
    : public ::testing::TestWithParam<std::tuple<PoolCase, int64_t, bool>> {
 protected:
  const PoolCase& pool() const { return std::get<0>(GetParam()); }
  bool include_padding() const { return std::get<2>(GetParam()); }
  PoolRun Run(int threads) const {
    return PoolRun(pool(), threads, std::get<1>(GetParam()),
                   include_padding() ? AvgPoolDivisor::kIncludePadding
                                     : AvgPoolDivisor::kExcludePadding);
  }
};

TEST_P(AvgPoolTest, AgreesWithReference) {
  const PoolRun run = Run(2);
  const ReferencePool reference = ReferenceOf(pool(), include_padding());
  EXPECT_TRUE(Near(run.y.view(), reference.Average(run.x.ToDoubles()),
                   pool().window()));
  EXPECT_TRUE(Near(run.dx.view(), reference.AverageBackward(run.dy.ToDoubles()),
                   pool().window()));
  EXPECT_TRUE(run.y.GapsUntouched());
  EXPECT_TRUE(run.dx.GapsUntouched());
}

TEST_P(AvgPoolTest, DoesNotDependOnThreads) {
  const PoolRun one = Run(1);
  for (int threads : {2, 3}) {
    const PoolRun other = Run(threads);
    EXPECT_TRUE(BitwiseEqual(one.y.view(), other.y.view()));
    EXPECT_TRUE(BitwiseEqual(one.dx.view(), other.dx.view()));
  }
}

TEST_P(AvgPoolTest, GradientsAreCentralDifferences) {
  const ReferencePool reference = ReferenceOf(pool(), include_padding());
  const auto x = TestTensor::Random(pool().x, 1).ToDoubles();
  const auto dy =
      TestTensor::Random(*AvgPoolOutputShape(pool().x, pool().params), 2)
          .ToDoubles();
  EXPECT_TRUE(GradientMatches(
      [&](const auto& v) { return Dot(reference.Average(v), dy); }, x,
      reference.AverageBackward(dy), 3));
}

INSTANTIATE_TEST_SUITE_P(
    All, AvgPoolTest,
    ::testing::Combine(::testing::ValuesIn(PoolCases()),
                       ::testing::Values(int64_t{0}, int64_t{3}),
                       ::testing::Bool()),
    [](const auto& param) {
      return std::get<0>(param.param).name +
             (std::get<1>(param.param) == 0 ? "Packed" : "Strided") +
             (std::get<2>(param.param) ? "Include" : "Exclude");
    });

TEST(AvgPoolErrorTest, Shapes) {
  const auto ctx = MakeContext(1);
  const PoolParams params{2, 2, {2, 2}, Padding::Valid()};
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  constexpr auto kDivisor = AvgPoolDivisor::kExcludePadding;
  TestTensor x({2, 4, 4, 3});
  TestTensor y({2, 2, 2, 4});
  EXPECT_THAT(AvgPool(*ctx, x.view(), params, kDivisor, y.view()),
              Fails(kInvalid, {"AvgPool: y has shape"}));
  EXPECT_THAT(AvgPoolBackward(*ctx, y.view(), params, kDivisor, x.view()),
              Fails(kInvalid, {"AvgPoolBackward: dy has shape"}));
  EXPECT_THAT(AvgPoolOutputShape(Shape{4, 3}, params),
              Fails(kInvalid, {"must have rank 4"}));
}

}  // namespace
}  // namespace densenet
