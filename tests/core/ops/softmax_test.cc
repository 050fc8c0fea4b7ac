#include "core/ops/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/numeric_gradient.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::Dot;
using ::densenet::testing::Fails;
using ::densenet::testing::MakeContext;
using ::densenet::testing::Near;
using ::densenet::testing::NumericGradient;
using ::densenet::testing::TestTensor;

using Vector = std::vector<double>;

Vector SoftmaxReference(const Vector& x, int64_t classes) {
  Vector y(x.size());
  for (size_t row = 0; row < x.size(); row += classes) {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[row + c]);
    for (int64_t c = 0; c < classes; ++c) {
      y[row + c] = std::exp(x[row + c]) / sum;
    }
  }
  return y;
}

// (rows, classes, gap, threads)
using Param = std::tuple<int64_t, int64_t, int64_t, int>;

class SoftmaxTest : public ::testing::TestWithParam<Param> {};

TEST_P(SoftmaxTest, ForwardAndBackwardMatchReference) {
  const auto [rows, classes, gap, threads] = GetParam();
  const auto ctx = MakeContext(threads);
  const Shape shape = {rows, classes};
  const TestTensor x = TestTensor::Random(shape, 1, gap);
  const TestTensor dy = TestTensor::Random(shape, 2, 1);
  TestTensor y(shape, gap), dx(shape, gap);
  ASSERT_OK(Softmax(*ctx, x.view(), y.view()));
  EXPECT_TRUE(
      Near(y.const_view(), SoftmaxReference(x.ToDoubles(), classes), 1));
  ASSERT_OK(SoftmaxBackward(*ctx, y.const_view(), dy.view(), dx.view()));
  EXPECT_TRUE(y.GapsUntouched() && dx.GapsUntouched());
  const Vector expected = NumericGradient(
      [&, width = classes](const Vector& v) {
        return Dot(SoftmaxReference(v, width), dy.ToDoubles());
      },
      x.ToDoubles());
  if (classes > 1) {
    EXPECT_TRUE(Near(dx.const_view(), expected, classes));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SoftmaxTest,
                         ::testing::Values(Param{1, 1, 0, 1}, Param{3, 7, 0, 1},
                                           Param{5, 10, 3, 2},
                                           Param{33, 2, 1, 5},
                                           Param{2, 101, 0, 2}));

TEST(SoftmaxOpTest, LargeLogitsStayFinite) {
  const auto ctx = MakeContext(1);
  const TestTensor x = TestTensor::FromVector({2, 2}, {1000, -1000, -2e4, 3e4});
  TestTensor y({2, 2});
  ASSERT_OK(Softmax(*ctx, x.view(), y.view()));
  EXPECT_EQ(y.ToDoubles(), Vector({1, 0, 0, 1}));
}

TEST(SoftmaxOpTest, ErrorsNameTheOperand) {
  const auto ctx = MakeContext(1);
  const TestTensor x({2, 3}), scalar(Shape{});
  TestTensor y({3, 2}), one(Shape{});
  EXPECT_THAT(Softmax(*ctx, x.view(), y.view()),
              Fails(StatusCode::kInvalidArgument,
                    {"Softmax: y has shape (3, 2), must be (2, 3)"}));
  EXPECT_THAT(Softmax(*ctx, scalar.view(), one.view()),
              Fails(StatusCode::kInvalidArgument,
                    {"Softmax: x ()", "not rows of adjacent elements"}));
}

}  // namespace
}  // namespace densenet
