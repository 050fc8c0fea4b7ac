#include "core/ops/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "core/ops/views.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/numeric_gradient.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::Fails;
using ::densenet::testing::MakeContext;
using ::densenet::testing::Near;
using ::densenet::testing::TestTensor;

struct Case {
  Shape shape;
  std::vector<int> axes;
};

std::vector<double> ReferenceSum(const TestTensor& x,
                                 const std::vector<int>& axes,
                                 int64_t outputs) {
  std::vector<bool> reduced(x.shape().rank(), axes.empty());
  for (int axis : axes) reduced[axis < 0 ? axis + x.shape().rank() : axis] = 1;
  std::vector<double> y(outputs, 0.0);
  for (int64_t i = 0; i < x.elems(); ++i) {
    int64_t rest = i, at = 0, scale = 1;
    for (int axis = x.shape().rank() - 1; axis >= 0; --axis) {
      const int64_t index = rest % x.shape().dim(axis);
      rest /= x.shape().dim(axis);
      if (!reduced[axis]) {
        at += index * scale;
        scale *= x.shape().dim(axis);
      }
    }
    y[at] += x.at(i);
  }
  return y;
}

class ReduceTest : public ::testing::TestWithParam<std::tuple<Case, int64_t>> {
};

TEST_P(ReduceTest, MatchesReferenceForEveryThreadCount) {
  const auto& [param, gap] = GetParam();
  const TestTensor x = TestTensor::Random(param.shape, 1, gap);
  const Shape dropped = *ReducedShape("", param.shape, param.axes, false);
  const Shape kept = *ReducedShape("", param.shape, param.axes, true);
  const std::vector<double> sums = ReferenceSum(x, param.axes, dropped.elems());
  const int64_t terms = dropped.elems() == 0 ? 0 : x.elems() / dropped.elems();
  std::vector<double> means = sums;
  for (double& mean : means) mean /= static_cast<double>(terms);
  TestTensor first(dropped);
  for (int threads : {1, 2, 5}) {
    const auto ctx = MakeContext(threads);
    TestTensor sum(dropped), mean(kept);
    ASSERT_OK(ReduceSum(*ctx, x.view(), param.axes, sum.view()));
    EXPECT_TRUE(Near(sum.const_view(), sums, 1));
    if (terms > 0) {
      ASSERT_OK(ReduceMean(*ctx, x.view(), param.axes, mean.view()));
      EXPECT_TRUE(Near(mean.const_view(), means, 1));
    }
    if (threads == 1) first = sum;
    EXPECT_TRUE(BitwiseEqual(sum.const_view(), first.const_view()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ReduceTest,
    ::testing::Combine(
        ::testing::Values(Case{{3, 5, 7, 4}, {}}, Case{{3, 5, 7, 4}, {0, 1, 2}},
                          Case{{3, 5, 7, 4}, {3}}, Case{{3, 5, 7, 4}, {-2, 0}},
                          Case{{3, 5, 7, 4}, {1}}, Case{{}, {}},
                          Case{{1, 1}, {1}}, Case{{100003}, {}},
                          Case{{20011, 3}, {0}}, Case{{5003, 131}, {0}},
                          Case{{3, 40009}, {1}}, Case{{200, 300}, {1}},
                          Case{{0, 3}, {0}}, Case{{3, 0}, {0}}),
        ::testing::Values(0, 2)));

TEST(ReduceTest, SumsATransposedView) {
  const auto ctx = MakeContext(2);
  const TestTensor x = TestTensor::Random({6, 5, 4}, 1);
  TestTensor direct({6, 4}), transposed({4, 6});
  ASSERT_OK(ReduceSum(*ctx, x.view(), {1}, direct.view()));
  ASSERT_OK(ReduceSum(*ctx, *TransposeView(x.view(), {2, 0, 1}), {2},
                      transposed.view()));
  EXPECT_TRUE(BitwiseEqual(*TransposeView(transposed.const_view(), {1, 0}),
                           direct.const_view()));
}

TEST(ReduceTest, ErrorsSayWhy) {
  constexpr StatusCode kCode = StatusCode::kInvalidArgument;
  const auto ctx = MakeContext(1);
  const TestTensor x({2, 3});
  TestTensor y({2}), empty({0, 3}), wide({2}, 1);
  EXPECT_THAT(ReduceSum(*ctx, x.view(), {2}, y.view()),
              Fails(kCode, {"ReduceSum: axis 2 of a tensor of 2 axes"}));
  EXPECT_THAT(ReduceSum(*ctx, x.view(), {1, -1}, y.view()),
              Fails(kCode, {"axis 1 of x (2, 3) is given twice in (1, -1)"}));
  EXPECT_THAT(ReduceMean(*ctx, x.view(), {0}, y.view()),
              Fails(kCode, {"ReduceMean: y has shape (2), must be (3)"}));
  TestTensor three({3});
  EXPECT_THAT(ReduceMean(*ctx, empty.view(), {0}, three.view()),
              Fails(kCode, {"no elements to average"}));
}

TEST(L2NormTest, MatchesReferenceAndItsGradient) {
  for (int64_t gap : {0, 3}) {
    const auto ctx = MakeContext(2);
    const TestTensor x = TestTensor::Random({5, 7}, 3, gap);
    const auto norm = [](const std::vector<double>& v) {
      return std::sqrt(testing::Dot(v, v));
    };
    TestTensor y(Shape{}), dy(Shape{}), dx({5, 7}, gap);
    ASSERT_OK(L2Norm(*ctx, x.view(), y.view()));
    EXPECT_TRUE(Near(y.const_view(), {norm(x.ToDoubles())}, 1));
    dy.at(0) = -2.0f;
    ASSERT_OK(L2NormBackward(*ctx, x.view(), y.view(), dy.view(), dx.view()));
    std::vector<double> expected =
        testing::NumericGradient(norm, x.ToDoubles());
    for (double& e : expected) e *= -2.0;
    EXPECT_TRUE(Near(dx.const_view(), expected, 35));
  }
}

TEST(L2NormTest, GradientAtZeroIsZero) {
  const auto ctx = MakeContext(1);
  const TestTensor x({4});
  TestTensor y(Shape{}), dy(Shape{}), dx = TestTensor::Random({4}, 1);
  dy.at(0) = 1.0f;
  ASSERT_OK(L2Norm(*ctx, x.view(), y.view()));
  ASSERT_OK(L2NormBackward(*ctx, x.view(), y.view(), dy.view(), dx.view()));
  EXPECT_EQ(dx.ToDoubles(), std::vector<double>(4, 0.0));
}

}  // namespace
}  // namespace densenet
