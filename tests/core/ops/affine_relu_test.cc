#include "core/ops/affine_relu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "tests/support/affine_relu_reference.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::AffineReluReference;
using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::Fails;
using ::densenet::testing::MakeContext;
using ::densenet::testing::Near;
using ::densenet::testing::TestTensor;

// shape, row gap, threads
class AffineReluTest
    : public ::testing::TestWithParam<std::tuple<Shape, int, int>> {};

TEST_P(AffineReluTest, MatchesFloat64AndTheOneArithmetic) {
  const auto& [shape, gap, threads] = GetParam();
  const auto ctx = MakeContext(threads);
  const int64_t channels = shape.dim(-1);
  const TestTensor x = TestTensor::Random(shape, 1, gap);
  const TestTensor s = TestTensor::Random({channels}, 2);
  const TestTensor t = TestTensor::Random({channels}, 3);
  TestTensor y(shape, gap + 1);
  ASSERT_OK(AffineRelu(*ctx, x.view(), s.view(), t.view(), y.view()));
  EXPECT_TRUE(Near(y.view(), AffineReluReference(x, s, t), 1));
  EXPECT_TRUE(y.GapsUntouched());
  for (int64_t i = 0; i < x.elems(); ++i) {
    const int64_t c = i % channels;
    ASSERT_EQ(y.at(i), AffineReluOf(x.at(i), s.at(c), t.at(c))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AffineReluTest,
    ::testing::Combine(::testing::Values(Shape{1}, Shape{37}, Shape{1, 1},
                                         Shape{2, 3, 5, 1}, Shape{1, 7, 3, 24},
                                         Shape{3, 5, 7, 35},
                                         Shape{4, 33, 31, 19}),
                       ::testing::Values(0, 5), ::testing::Values(1, 3)));

TEST(AffineReluInPlaceTest, OutputMayBeTheInput) {
  const auto ctx = MakeContext();
  TestTensor x = TestTensor::Random({6, 21}, 1, 3);
  const TestTensor s = TestTensor::Random({21}, 2);
  const TestTensor t = TestTensor::Random({21}, 3);
  TestTensor y({6, 21});
  ASSERT_OK(AffineRelu(*ctx, x.view(), s.view(), t.view(), y.view()));
  ASSERT_OK(AffineRelu(*ctx, x.const_view(), s.view(), t.view(), x.view()));
  EXPECT_TRUE(BitwiseEqual(x.view(), y.view()));
}

TEST(AffineReluOfTest, RoundsOnce) {
  // (1 + u)^2 - (1 + 2u) = u^2, which a rounded product would lose.
  const float u = std::ldexp(1.0f, -12);
  EXPECT_EQ(AffineReluOf(1 + u, 1 + u, -(1 + 2 * u)), u * u);
}

TEST(AffineReluOfTest, NanPassesInEveryLane) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(AffineReluOf(nan, 1, 0)));
  const auto ctx = MakeContext();
  constexpr int64_t kChannels = 21;
  TestTensor x({2, kChannels});
  const TestTensor ones =
      TestTensor::FromVector({kChannels}, std::vector<double>(kChannels, 1));
  TestTensor y({2, kChannels});
  for (int64_t c = 0; c < kChannels; ++c) x.at(kChannels + c) = nan;
  ASSERT_OK(AffineRelu(*ctx, x.view(), ones.view(), ones.view(), y.view()));
  for (int64_t c = 0; c < kChannels; ++c) {
    EXPECT_EQ(y.at(c), 1);
    EXPECT_TRUE(std::isnan(y.at(kChannels + c)));
  }
}

TEST(AffineReluErrorsTest, NameOperandAndShape) {
  const auto ctx = MakeContext();
  const TestTensor x({2, 3, 4});
  const TestTensor c4({4});
  const TestTensor c5({5});
  TestTensor y({2, 3, 4});
  TestTensor other({2, 3, 5});
  EXPECT_THAT(
      AffineRelu(*ctx, x.view(), c5.view(), c4.view(), y.view()),
      Fails(StatusCode::kInvalidArgument, {"AffineRelu", "s", "(5)", "(4)"}));
  EXPECT_THAT(AffineRelu(*ctx, x.view(), c4.view(), c5.view(), y.view()),
              Fails(StatusCode::kInvalidArgument, {"t", "(5)", "(4)"}));
  EXPECT_THAT(
      AffineRelu(*ctx, x.view(), c4.view(), c4.view(), other.view()),
      Fails(StatusCode::kInvalidArgument, {"y", "(2, 3, 5)", "(2, 3, 4)"}));
  const ConstTensorView scalar(x.view().raw(), DType::kFloat32, Shape());
  EXPECT_THAT(AffineRelu(*ctx, scalar, c4.view(), c4.view(), y.view()),
              Fails(StatusCode::kInvalidArgument, {"x", "rank 0"}));
  const ConstTensorView elsewhere(x.view().raw(), DType::kFloat32, {2, 3, 4},
                                  Device::Cuda(0));
  EXPECT_THAT(AffineRelu(*ctx, elsewhere, c4.view(), c4.view(), y.view()),
              Fails(StatusCode::kInvalidArgument, {"x", "cuda:0", "cpu"}));
}

}  // namespace
}  // namespace densenet
