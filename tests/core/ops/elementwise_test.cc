#include "core/ops/elementwise.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::Fails;
using ::densenet::testing::MakeContext;
using ::densenet::testing::Near;
using ::densenet::testing::TestTensor;

using BinaryFn = Status (*)(const Context&, ConstTensorView, ConstTensorView,
                            TensorView);

struct Case {
  Shape a, b, y;
};

// Element of an operand of `shape` that element i of `joint` reads: the
// definition of broadcasting, apart from strides.
int64_t BroadcastIndex(const Shape& shape, const Shape& joint, int64_t i) {
  int64_t index = 0;
  int64_t scale = 1;
  for (int axis = 1; axis <= joint.rank(); ++axis) {
    const int64_t at = i % joint.dim(-axis);
    i /= joint.dim(-axis);
    if (axis <= shape.rank()) {
      index += (shape.dim(-axis) == 1 ? 0 : at) * scale;
      scale *= shape.dim(-axis);
    }
  }
  return index;
}

class ElementwiseTest
    : public ::testing::TestWithParam<std::tuple<Case, int64_t, int>> {};

TEST_P(ElementwiseTest, MatchesReference) {
  const auto& [shapes, gap, threads] = GetParam();
  const auto ctx = MakeContext(threads);
  const TestTensor a = TestTensor::Random(shapes.a, 1, gap);
  const TestTensor b = TestTensor::Random(shapes.b, 2, 2 * gap);
  const struct {
    BinaryFn op;
    double (*reference)(double, double);
  } ops[] = {{Add, [](double p, double q) { return p + q; }},
             {Subtract, [](double p, double q) { return p - q; }},
             {Multiply, [](double p, double q) { return p * q; }}};
  for (const auto& op : ops) {
    TestTensor y(shapes.y, gap);
    ASSERT_OK(op.op(*ctx, a.view(), b.view(), y.view()));
    std::vector<double> expected;
    for (int64_t i = 0; i < y.elems(); ++i) {
      expected.push_back(
          op.reference(a.at(BroadcastIndex(shapes.a, shapes.y, i)),
                       b.at(BroadcastIndex(shapes.b, shapes.y, i))));
    }
    EXPECT_TRUE(Near(y.const_view(), expected, 1));
    EXPECT_TRUE(y.GapsUntouched());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ElementwiseTest,
    ::testing::Combine(::testing::Values(Case{{3, 5, 7}, {3, 5, 7}, {3, 5, 7}},
                                         Case{{2, 3, 5, 7}, {7}, {2, 3, 5, 7}},
                                         Case{{7}, {2, 3, 5, 7}, {2, 3, 5, 7}},
                                         Case{{4, 6}, {}, {4, 6}},
                                         Case{{}, {}, {}}, Case{{1}, {1}, {1}},
                                         Case{{3, 1, 5}, {4, 1}, {3, 4, 5}},
                                         Case{{2, 40001}, {2, 1}, {2, 40001}},
                                         Case{{0, 3}, {3}, {0, 3}},
                                         Case{{9000, 3}, {9000, 3}, {9000, 3}}),
                       ::testing::Values(0, 3), ::testing::Values(1, 3)));

TEST(ElementwiseOpsTest, WorksInPlace) {
  const auto ctx = MakeContext(2);
  TestTensor a = TestTensor::Random({50, 37}, 1);
  const TestTensor b = TestTensor::Random({50, 37}, 2);
  TestTensor y({50, 37});
  ASSERT_OK(Add(*ctx, a.view(), b.view(), y.view()));
  ASSERT_OK(Add(*ctx, a.const_view(), b.view(), a.view()));
  EXPECT_TRUE(BitwiseEqual(a.const_view(), y.const_view()));
}

TEST(ElementwiseOpsTest, NegateAndScale) {
  const auto ctx = MakeContext(2);
  const TestTensor x = TestTensor::Random({5, 7}, 1, 2);
  TestTensor y({5, 7}, 1);
  std::vector<double> negated, scaled;
  for (double v : x.ToDoubles()) {
    negated.push_back(-v);
    scaled.push_back(0.3f * v);
  }
  ASSERT_OK(Negate(*ctx, x.view(), y.view()));
  EXPECT_TRUE(Near(y.const_view(), negated, 0));
  ASSERT_OK(Scale(*ctx, x.view(), 0.3f, y.view()));
  EXPECT_TRUE(Near(y.const_view(), scaled, 1));
}

TEST(ElementwiseOpsTest, ErrorsNameOperandsAndShapes) {
  const auto ctx = MakeContext(1);
  TestTensor a({2, 3}), b({2, 4}), y({2, 3}), z({3, 2});
  EXPECT_THAT(Add(*ctx, a.view(), b.view(), y.view()),
              Fails(StatusCode::kInvalidArgument,
                    {"Add: a (2, 3) and b (2, 4) do not broadcast"}));
  EXPECT_THAT(Multiply(*ctx, a.view(), a.view(), z.view()),
              Fails(StatusCode::kInvalidArgument,
                    {"Multiply: y has shape (3, 2), must be (2, 3)"}));
  double d[6] = {};
  EXPECT_THAT(Subtract(*ctx, a.view(),
                       ConstTensorView(d, DType::kFloat64, {2, 3}), y.view()),
              Fails(StatusCode::kInvalidArgument,
                    {"Subtract: b is float64 (2, 3), must be float32"}));
}

}  // namespace
}  // namespace densenet
