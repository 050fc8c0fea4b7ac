#include "core/ops/sparse_softmax_cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

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

// log(sum exp(x)) - sum t x, by definition.
Vector CrossEntropyReference(const Vector& x, const std::vector<int32_t>& label,
                             int64_t classes, double smoothing = 0) {
  Vector losses(label.size());
  for (size_t n = 0; n < label.size(); ++n) {
    double sum = 0;
    losses[n] = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double target = (c == label[n] ? 1 - smoothing : 0) +
                            smoothing / static_cast<double>(classes);
      losses[n] -= target * x[n * classes + c];
      sum += std::exp(x[n * classes + c]);
    }
    losses[n] += std::log(sum);
  }
  return losses;
}

ConstTensorView LabelsView(const std::vector<int32_t>& label) {
  return ConstTensorView(label.data(), DType::kInt32,
                         {static_cast<int64_t>(label.size())});
}

// (rows, classes, gap, threads)
using Param = std::tuple<int64_t, int64_t, int64_t, int>;
constexpr double kSmoothings[] = {0, 0.1, 0.9};

class SparseSoftmaxCrossEntropyTest : public ::testing::TestWithParam<Param> {};

TEST_P(SparseSoftmaxCrossEntropyTest, MatchesReference) {
  const auto [rows, classes, gap, threads] = GetParam();
  const auto ctx = MakeContext(threads);
  const TestTensor x = TestTensor::Random({rows, classes}, 1, gap);
  const TestTensor dy = TestTensor::Random({rows}, 2);
  std::vector<int32_t> label(rows);
  for (int64_t n = 0; n < rows; ++n) {
    label[n] = static_cast<int32_t>(n * 7 % classes);
  }
  for (double smoothing : kSmoothings) {
    const CrossEntropyParams params = {.label_smoothing = smoothing};
    TestTensor losses({rows}), dx({rows, classes}, gap);
    ASSERT_OK(SparseSoftmaxCrossEntropy(*ctx, x.view(), LabelsView(label),
                                        losses.view(), params));
    EXPECT_TRUE(Near(
        losses.const_view(),
        CrossEntropyReference(x.ToDoubles(), label, classes, smoothing), 4));
    ASSERT_OK(SparseSoftmaxCrossEntropyBackward(
        *ctx, x.view(), LabelsView(label), dy.view(), dx.view(), params));
    EXPECT_TRUE(dx.GapsUntouched());
    const Vector expected = NumericGradient(
        [&, width = classes](const Vector& v) {
          return Dot(CrossEntropyReference(v, label, width, smoothing),
                     dy.ToDoubles());
        },
        x.ToDoubles());
    if (classes > 1) {
      EXPECT_TRUE(Near(dx.const_view(), expected, classes));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SparseSoftmaxCrossEntropyTest,
                         ::testing::Values(Param{1, 1, 0, 1}, Param{3, 7, 0, 1},
                                           Param{5, 10, 3, 2},
                                           Param{33, 2, 1, 5},
                                           Param{2, 101, 0, 2}));

TEST(SparseSoftmaxCrossEntropyOpTest, LargeLogitsStayFinite) {
  const auto ctx = MakeContext(1);
  const TestTensor x = TestTensor::FromVector({2, 2}, {1000, -1000, -2e4, 3e4});
  TestTensor losses({2});
  const std::vector<int32_t> label = {0, 0};
  ASSERT_OK(SparseSoftmaxCrossEntropy(*ctx, x.view(), LabelsView(label),
                                      losses.view()));
  EXPECT_EQ(losses.ToDoubles(), Vector({0, 5e4}));
}

TEST(SparseSoftmaxCrossEntropyOpTest, OneFactorForAllRowsIsAGradientOfTheMean) {
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

TEST(SparseSoftmaxCrossEntropyOpTest, ImpossibleSmoothingIsAnError) {
  const auto ctx = MakeContext(1);
  const TestTensor x({1, 2});
  TestTensor losses({1});
  const std::vector<int32_t> label = {0};
  for (double smoothing : {-0.1, 1.0, std::nan("")}) {
    EXPECT_THAT(SparseSoftmaxCrossEntropy(*ctx, x.view(), LabelsView(label),
                                          losses.view(),
                                          {.label_smoothing = smoothing}),
                Fails(StatusCode::kInvalidArgument, {"label smoothing"}));
  }
}

TEST(SparseSoftmaxCrossEntropyOpTest, ErrorsNameLabelAndRow) {
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
      Fails(StatusCode::kInvalidArgument,
            {"labels has shape (2), must be (3)"}));
  EXPECT_THAT(
      SparseSoftmaxCrossEntropy(*ctx, x.view(), losses.view(), losses.view()),
      Fails(StatusCode::kInvalidArgument,
            {"labels is float32 (3), must be int32"}));
}

}  // namespace
}  // namespace densenet
