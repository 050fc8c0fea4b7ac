#include "core/ops/global_avg_pool.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/pool_cases.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using testing::BitwiseEqual;
using testing::Fails;
using testing::MakeContext;
using testing::Near;
using testing::PoolCase;
using testing::ReferenceOf;
using testing::ReferencePool;
using testing::TestTensor;

class GlobalAvgPoolTest
    : public ::testing::TestWithParam<std::tuple<Shape, int64_t>> {};

TEST_P(GlobalAvgPoolTest, AgreesWithReference) {
  const auto& [shape, gap] = GetParam();
  const PoolCase whole{
      "", shape, {shape[1], shape[2], {1, 1}, Padding::Valid()}};
  const ReferencePool reference = ReferenceOf(whole, false);
  const TestTensor x = TestTensor::Random(shape, 1, gap);
  const TestTensor dy = TestTensor::Random({shape[0], shape[3]}, 2, 2 * gap);
  TestTensor y(dy.shape(), gap);
  TestTensor dx(shape, gap);
  TestTensor y_one(dy.shape());
  for (int threads : {1, 2, 3}) {
    const auto ctx = MakeContext(threads);
    ASSERT_OK(GlobalAvgPool(*ctx, x.view(), y.view()));
    ASSERT_OK(GlobalAvgPoolBackward(*ctx, dy.view(), dx.view()));
    if (threads == 1) {
      ASSERT_OK(GlobalAvgPool(*ctx, x.view(), y_one.view()));
    }
    EXPECT_TRUE(BitwiseEqual(y.view(), y_one.view()));
    EXPECT_TRUE(Near(y.view(), reference.Average(x.ToDoubles()), 1));
    EXPECT_TRUE(Near(dx.view(), reference.AverageBackward(dy.ToDoubles()), 1));
  }
  EXPECT_TRUE(y.GapsUntouched());
  EXPECT_TRUE(dx.GapsUntouched());
}

INSTANTIATE_TEST_SUITE_P(
    All, GlobalAvgPoolTest,
    ::testing::Combine(::testing::Values(Shape{1, 1, 1, 1}, Shape{3, 8, 8, 65},
                                         Shape{5, 7, 3, 2},
                                         Shape{2, 31, 17, 130}),
                       ::testing::Values(int64_t{0}, int64_t{5})));

TEST(GlobalAvgPoolErrorTest, Shapes) {
  const auto ctx = MakeContext(1);
  TestTensor x({2, 4, 4, 3});
  TestTensor y({2, 4});
  EXPECT_THAT(GlobalAvgPool(*ctx, x.view(), y.view()),
              Fails(StatusCode::kInvalidArgument,
                    {"GlobalAvgPool: y has shape (2, 4), must be (2, 3)"}));
  EXPECT_THAT(GlobalAvgPoolBackward(*ctx, y.view(), x.view()),
              Fails(StatusCode::kInvalidArgument,
                    {"GlobalAvgPoolBackward: dy has shape (2, 4)"}));
}

}  // namespace
}  // namespace densenet
