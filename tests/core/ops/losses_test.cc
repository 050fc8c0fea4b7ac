// Softmax and the two cross-entropies against float64 and central differences.

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "core/ops/sigmoid_cross_entropy.h"
#include "core/ops/softmax.h"
#include "core/ops/sparse_softmax_cross_entropy.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/numeric_gradient.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
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

Vector CrossEntropyReference(const Vector& x, const std::vector<int32_t>& label,
                             int64_t classes) {
  const Vector probability = SoftmaxReference(x, classes);
  Vector losses(label.size());
  for (size_t n = 0; n < label.size(); ++n) {
    losses[n] = -std::log(probability[n * classes + label[n]]);
  }
  return losses;
}

// (rows, classes, gap, threads)
using Param = std::tuple<int64_t, int64_t, int64_t, int>;

class SoftmaxTest : public ::testing::TestWithParam<Param> {
 protected:
  static ConstTensorView Labels(const std::vector<int32_t>& label) {
    return ConstTensorView(label.data(), DType::kInt32,
                           {static_cast<int64_t>(label.size())});
  }
};

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

TEST_P(SoftmaxTest, CrossEntropyMatchesReference) {
  const auto [rows, classes, gap, threads] = GetParam();
  const auto ctx = MakeContext(threads);
  const TestTensor x = TestTensor::Random({rows, classes}, 1, gap);
  const TestTensor dy = TestTensor::Random({rows}, 2);
  std::vector<int32_t> label(rows);
  for (int64_t n = 0; n < rows; ++n) {
    label[n] = static_cast<int32_t>(n * 7 % classes);
  }
  TestTensor losses({rows}), dx({rows, classes}, gap);
  ASSERT_OK(
      SparseSoftmaxCrossEntropy(*ctx, x.view(), Labels(label), losses.view()));
  EXPECT_TRUE(Near(losses.const_view(),
                   CrossEntropyReference(x.ToDoubles(), label, classes), 4));
  ASSERT_OK(SparseSoftmaxCrossEntropyBackward(*ctx, x.view(), Labels(label),
                                              dy.view(), dx.view()));
  EXPECT_TRUE(dx.GapsUntouched());
  const Vector expected = NumericGradient(
      [&, width = classes](const Vector& v) {
        return Dot(CrossEntropyReference(v, label, width), dy.ToDoubles());
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

TEST(SoftmaxOpsTest, LargeLogitsStayFinite) {
  const auto ctx = MakeContext(1);
  const TestTensor x = TestTensor::FromVector({2, 2}, {1000, -1000, -2e4, 3e4});
  TestTensor y({2, 2}), losses({2});
  const std::vector<int32_t> label = {0, 0};
  ASSERT_OK(Softmax(*ctx, x.view(), y.view()));
  EXPECT_EQ(y.ToDoubles(), Vector({1, 0, 0, 1}));
  ASSERT_OK(SparseSoftmaxCrossEntropy(
      *ctx, x.view(), ConstTensorView(label.data(), DType::kInt32, {2}),
      losses.view()));
  EXPECT_EQ(losses.ToDoubles(), Vector({0, 5e4}));
}

TEST(SoftmaxOpsTest, OneFactorForAllRowsIsAGradientOfTheMean) {
  const auto ctx = MakeContext(1);
  const TestTensor x = TestTensor::Random({4, 3}, 1);
  const std::vector<int32_t> label = {0, 2, 1, 2};
  const ConstTensorView labels(label.data(), DType::kInt32, {4});
  const TestTensor each = TestTensor::FromVector({4}, Vector(4, 0.25));
  const float factor = 0.25f;
  const ConstTensorView all(&factor, DType::kFloat32, {4}, {0});
  TestTensor dx({4, 3}), dx_all({4, 3});
  ASSERT_OK(SparseSoftmaxCrossEntropyBackward(*ctx, x.view(), labels,
                                              each.view(), dx.view()));
  ASSERT_OK(SparseSoftmaxCrossEntropyBackward(*ctx, x.view(), labels, all,
                                              dx_all.view()));
  EXPECT_TRUE(BitwiseEqual(dx.const_view(), dx_all.const_view()));
}

TEST(SoftmaxOpsTest, ErrorsNameLabelAndRow) {
  const auto ctx = MakeContext(1);
  const TestTensor x({3, 10});
  TestTensor losses = TestTensor::FromVector({3}, {7, 7, 7});
  for (int32_t bad : {10, -1}) {
    const std::vector<int32_t> label = {0, bad, 3};
    EXPECT_THAT(
        SparseSoftmaxCrossEntropy(
            *ctx, x.view(), ConstTensorView(label.data(), DType::kInt32, {3}),
            losses.view()),
        Fails(StatusCode::kInvalidArgument,
              {"label " + std::to_string(bad) + " of row 1 is out of range",
               "(3, 10) have classes 0 to 9"}));
  }
  EXPECT_EQ(losses.ToDoubles(), Vector({7, 7, 7}));
  const std::vector<int32_t> two = {0, 1};
  EXPECT_THAT(
      SparseSoftmaxCrossEntropy(*ctx, x.view(),
                                ConstTensorView(two.data(), DType::kInt32, {2}),
                                losses.view()),
      Fails(StatusCode::kInvalidArgument, {"labels is (2), expected (3)"}));
  EXPECT_THAT(
      SparseSoftmaxCrossEntropy(*ctx, x.view(), losses.view(), losses.view()),
      Fails(StatusCode::kInvalidArgument,
            {"labels is float32 (3), expected int32"}));
}

TEST(SigmoidCrossEntropyTest, MatchesReferenceAndItsGradient) {
  const Shape shape = {5, 7};
  for (int64_t gap : {0, 2}) {
    for (int threads : {1, 2}) {
      const auto ctx = MakeContext(threads);
      const TestTensor x = TestTensor::Random(shape, 1, gap);
      const TestTensor z = TestTensor::Random(shape, 2, gap);
      const TestTensor dy = TestTensor::Random(shape, 3);
      const auto reference = [&](const Vector& v) {
        Vector losses;
        for (size_t i = 0; i < v.size(); ++i) {
          const double p = 1 / (1 + std::exp(-v[i]));
          losses.push_back(-z.at(i) * std::log(p) -
                           (1.0 - z.at(i)) * std::log(1 - p));
        }
        return losses;
      };
      TestTensor losses(shape, gap), dx(shape, gap);
      ASSERT_OK(SigmoidCrossEntropy(*ctx, x.view(), z.view(), losses.view()));
      EXPECT_TRUE(Near(losses.const_view(), reference(x.ToDoubles()), 1));
      ASSERT_OK(SigmoidCrossEntropyBackward(*ctx, x.view(), z.view(), dy.view(),
                                            dx.view()));
      const Vector expected = NumericGradient(
          [&](const Vector& v) { return Dot(reference(v), dy.ToDoubles()); },
          x.ToDoubles());
      EXPECT_TRUE(Near(dx.const_view(), expected, 1));
    }
  }
}

TEST(SigmoidCrossEntropyTest, LargeLogitsAreExact) {
  const auto ctx = MakeContext(1);
  const TestTensor x = TestTensor::FromVector({4}, {1e4, 1e4, -1e4, -1e4});
  const TestTensor z = TestTensor::FromVector({4}, {1, 0, 1, 0});
  TestTensor losses({4});
  ASSERT_OK(SigmoidCrossEntropy(*ctx, x.view(), z.view(), losses.view()));
  EXPECT_EQ(losses.ToDoubles(), Vector({0, 1e4, 1e4, 0}));
}

}  // namespace
}  // namespace densenet
