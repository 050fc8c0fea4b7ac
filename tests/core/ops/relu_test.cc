#include "core/ops/relu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using testing::BitwiseEqual;
using testing::Fails;
using testing::MakeContext;
using testing::TestTensor;

class ReluTest : public ::testing::TestWithParam<std::tuple<Shape, int64_t>> {};

TEST_P(ReluTest, IsExact) {
  const auto& [shape, gap] = GetParam();
  const TestTensor x = TestTensor::Random(shape, 1, gap);
  const TestTensor dy = TestTensor::Random(shape, 2, 2 * gap);
  TestTensor expected(shape);
  TestTensor expected_dx(shape);
  for (int64_t i = 0; i < x.elems(); ++i) {
    expected.at(i) = x.at(i) > 0 ? x.at(i) : 0;
    expected_dx.at(i) = x.at(i) > 0 ? dy.at(i) : 0;
  }
  for (int threads : {1, 2, 3}) {
    const auto ctx = MakeContext(threads);
    TestTensor y(shape, gap);
    TestTensor dx(shape, 3 * gap);
    ASSERT_OK(Relu(*ctx, x.view(), y.view()));
    EXPECT_TRUE(BitwiseEqual(y.const_view(), expected.const_view()));
    EXPECT_TRUE(y.GapsUntouched());
    for (const TestTensor* activation :
         {&x, const_cast<const TestTensor*>(&y)}) {
      ASSERT_OK(ReluBackward(*ctx, activation->view(), dy.view(), dx.view()));
      EXPECT_TRUE(BitwiseEqual(dx.const_view(), expected_dx.const_view()));
      EXPECT_TRUE(dx.GapsUntouched());
    }
    TestTensor in_place = x;
    ASSERT_OK(Relu(*ctx, in_place.const_view(), in_place.view()));
    EXPECT_TRUE(BitwiseEqual(in_place.const_view(), expected.const_view()));
    TestTensor gradient = dy;
    ASSERT_OK(
        ReluBackward(*ctx, x.view(), gradient.const_view(), gradient.view()));
    EXPECT_TRUE(BitwiseEqual(gradient.const_view(), expected_dx.const_view()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ReluTest,
    ::testing::Combine(::testing::Values(Shape{}, Shape{1}, Shape{50001},
                                         Shape{3, 7}, Shape{2, 5, 3, 13},
                                         Shape{4, 33, 32, 24}),
                       ::testing::Values(int64_t{0}, int64_t{3})));

TEST(ReluTest, ShowsNanAndBlocksAtZero) {
  const auto ctx = MakeContext(1);
  TestTensor x = TestTensor::FromVector({3}, {0, 0, -1});
  x.at(1) = std::numeric_limits<float>::quiet_NaN();
  const TestTensor dy = TestTensor::FromVector({3}, {1, 1, 1});
  TestTensor y({3});
  TestTensor dx({3});
  ASSERT_OK(Relu(*ctx, x.view(), y.view()));
  ASSERT_OK(ReluBackward(*ctx, x.view(), dy.view(), dx.view()));
  EXPECT_EQ(y.at(0), 0);
  EXPECT_TRUE(std::isnan(y.at(1)));
  EXPECT_EQ(dx.ToDoubles(), std::vector<double>({0, 0, 0}));
}

TEST(ReluErrorTest, NamesTensors) {
  const auto ctx = MakeContext(1);
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  TestTensor x({2, 3});
  TestTensor y({3, 2});
  EXPECT_THAT(Relu(*ctx, x.view(), y.view()),
              Fails(kInvalid, {"Relu: y has shape (3, 2), must be (2, 3)"}));
  EXPECT_THAT(ReluBackward(*ctx, x.view(), y.view(), x.view()),
              Fails(kInvalid, {"ReluBackward: dy has shape (3, 2)"}));
  EXPECT_THAT(ReluBackward(*ctx, x.view(), x.view(), y.view()),
              Fails(kInvalid, {"ReluBackward: dx has shape (3, 2)"}));
  const ConstTensorView doubles(x.view().raw(), DType::kFloat64, {1, 3});
  EXPECT_THAT(Relu(*ctx, doubles, x.view()),
              Fails(kInvalid, {"Relu: x is float64, must be float32"}));
}

}  // namespace
}  // namespace densenet
