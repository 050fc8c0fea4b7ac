// Max, average and global average pooling.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "core/ops/avg_pool.h"
#include "core/ops/global_avg_pool.h"
#include "core/ops/max_pool.h"
#include "tests/support/compare.h"
#include "tests/support/gradient_check.h"
#include "tests/support/make_context.h"
#include "tests/support/reference_pool.h"
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
using testing::ReferencePool;
using testing::TestTensor;

struct PoolCase {
  std::string name;
  Shape x;
  PoolParams params;
};

std::vector<PoolCase> Cases() {
  const Padding same = Padding::Same();
  const Padding valid = Padding::Valid();
  return {
      {"Scalar", {1, 1, 1, 1}, {1, 1, {1, 1}, valid}},
      {"Transition", {3, 8, 8, 24}, {2, 2, {2, 2}, valid}},
      {"OddTransition", {2, 7, 5, 13}, {2, 2, {2, 2}, valid}},
      {"OverlapSame", {2, 9, 8, 70}, {3, 3, {2, 2}, same}},
      {"StrideOne", {2, 5, 6, 3}, {3, 2, {1, 1}, same}},
      {"Explicit", {5, 6, 7, 5}, {3, 4, {2, 3}, Padding::Explicit(1, 2, 3, 0)}},
      {"StrideBeyondWindow", {1, 9, 9, 2}, {2, 1, {4, 3}, valid}},
      {"Whole", {2, 4, 3, 130}, {4, 3, {1, 1}, valid}},
  };
}

ReferencePool Reference(const PoolCase& test, bool include_padding) {
  const WindowGeometry g =
      *ResolvePool("test", test.x[1], test.x[2], test.params);
  return {test.x[0],
          test.x[1],
          test.x[2],
          test.x[3],
          test.params.window_h,
          test.params.window_w,
          test.params.stride.h,
          test.params.stride.w,
          g.top,
          g.left,
          g.out_h,
          g.out_w,
          include_padding};
}

struct PoolRun {
  TestTensor x, dy, max, max_dx, average, average_dx;

  PoolRun(const PoolCase& test, int threads, int64_t gap,
          AvgPoolDivisor divisor)
      : x(TestTensor::Random(test.x, 1, gap)),
        dy(TestTensor::Random(*MaxPoolOutputShape(test.x, test.params), 2,
                              2 * gap)),
        max(dy.shape(), gap),
        max_dx(test.x, 3 * gap),
        average(dy.shape(), gap),
        average_dx(test.x, gap) {
    const auto ctx = MakeContext(threads);
    EXPECT_OK(MaxPool(*ctx, x.view(), test.params, max.view()));
    EXPECT_OK(
        MaxPoolBackward(*ctx, x.view(), dy.view(), test.params, max_dx.view()));
    EXPECT_OK(AvgPool(*ctx, x.view(), test.params, divisor, average.view()));
    EXPECT_OK(AvgPoolBackward(*ctx, dy.view(), test.params, divisor,
                              average_dx.view()));
  }
};

class PoolTest
    : public ::testing::TestWithParam<std::tuple<PoolCase, int64_t, bool>> {
 protected:
  const PoolCase& test() const { return std::get<0>(GetParam()); }
  int64_t gap() const { return std::get<1>(GetParam()); }
  bool include_padding() const { return std::get<2>(GetParam()); }
  PoolRun Run(int threads) const {
    return PoolRun(test(), threads, gap(),
                   include_padding() ? AvgPoolDivisor::kIncludePadding
                                     : AvgPoolDivisor::kExcludePadding);
  }
};

TEST_P(PoolTest, AgreesWithReference) {
  const PoolRun run = Run(2);
  const ReferencePool reference = Reference(test(), include_padding());
  const auto x = run.x.ToDoubles();
  const auto dy = run.dy.ToDoubles();
  const int64_t window = test().params.window_h * test().params.window_w;
  EXPECT_EQ(AvgPoolOutputShape(test().x, test().params).value(),
            run.average.shape());
  EXPECT_TRUE(Near(run.max.view(), reference.Max(x), 0));
  EXPECT_TRUE(Near(run.max_dx.view(), reference.MaxBackward(x, dy), window));
  EXPECT_TRUE(Near(run.average.view(), reference.Average(x), window));
  EXPECT_TRUE(
      Near(run.average_dx.view(), reference.AverageBackward(dy), window));
  for (const TestTensor* t :
       {&run.max, &run.max_dx, &run.average, &run.average_dx}) {
    EXPECT_TRUE(t->GapsUntouched());
  }
}

TEST_P(PoolTest, DoesNotDependOnThreads) {
  const PoolRun one = Run(1);
  for (int threads : {2, 3}) {
    const PoolRun other = Run(threads);
    EXPECT_TRUE(BitwiseEqual(one.max.view(), other.max.view()));
    EXPECT_TRUE(BitwiseEqual(one.max_dx.view(), other.max_dx.view()));
    EXPECT_TRUE(BitwiseEqual(one.average.view(), other.average.view()));
    EXPECT_TRUE(BitwiseEqual(one.average_dx.view(), other.average_dx.view()));
  }
}

TEST_P(PoolTest, GradientsAreCentralDifferences) {
  const ReferencePool reference = Reference(test(), include_padding());
  const auto x = TestTensor::Random(test().x, 1).ToDoubles();
  const auto dy =
      TestTensor::Random(*MaxPoolOutputShape(test().x, test().params), 2)
          .ToDoubles();
  EXPECT_TRUE(GradientMatches(
      [&](const auto& v) { return Dot(reference.Average(v), dy); }, x,
      reference.AverageBackward(dy), 3));
  // Every value distinct by far more than a step.
  std::vector<double> apart(x.size());
  for (size_t i = 0; i < apart.size(); ++i) {
    apart[i] = static_cast<double>(i * 7919 % apart.size()) /
               static_cast<double>(apart.size());
  }
  EXPECT_TRUE(
      GradientMatches([&](const auto& v) { return Dot(reference.Max(v), dy); },
                      apart, reference.MaxBackward(apart, dy), 4));
}

INSTANTIATE_TEST_SUITE_P(
    All, PoolTest,
    ::testing::Combine(::testing::ValuesIn(Cases()),
                       ::testing::Values(int64_t{0}, int64_t{3}),
                       ::testing::Bool()),
    [](const auto& param) {
      return std::get<0>(param.param).name +
             (std::get<1>(param.param) == 0 ? "Packed" : "Strided") +
             (std::get<2>(param.param) ? "Include" : "Exclude");
    });

TEST(MaxPoolTest, TiesGoToTheFirstElement) {
  const auto ctx = MakeContext(1);
  const PoolParams params{2, 2, {1, 1}, Padding::Valid()};
  // Both windows of the single row of outputs see equal maxima.
  const TestTensor x = TestTensor::FromVector({1, 2, 3, 1}, {1, 5, 5, 5, 5, 1});
  const TestTensor dy = TestTensor::FromVector({1, 1, 2, 1}, {10, 100});
  TestTensor dx({1, 2, 3, 1});
  ASSERT_OK(MaxPoolBackward(*ctx, x.view(), dy.view(), params, dx.view()));
  EXPECT_EQ(dx.ToDoubles(), std::vector<double>({0, 110, 0, 0, 0, 0}));
}

TEST(MaxPoolTest, PaddingNeverWinsAndNanDoes) {
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

TEST(PoolErrorTest, Shapes) {
  const auto ctx = MakeContext(1);
  const PoolParams params{2, 2, {2, 2}, Padding::Valid()};
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  constexpr auto kDivisor = AvgPoolDivisor::kExcludePadding;
  TestTensor x({2, 4, 4, 3});
  TestTensor y({2, 2, 2, 4});
  EXPECT_THAT(MaxPool(*ctx, x.view(), params, y.view()),
              Fails(kInvalid, {"MaxPool: y has shape (2, 2, 2, 4), must be "
                               "(2, 2, 2, 3)"}));
  EXPECT_THAT(MaxPoolBackward(*ctx, x.view(), y.view(), params, x.view()),
              Fails(kInvalid, {"MaxPoolBackward: dy has shape"}));
  EXPECT_THAT(AvgPool(*ctx, x.view(), params, kDivisor, y.view()),
              Fails(kInvalid, {"AvgPool: y has shape"}));
  EXPECT_THAT(AvgPoolBackward(*ctx, y.view(), params, kDivisor, x.view()),
              Fails(kInvalid, {"AvgPoolBackward: dy has shape"}));
  const TestTensor dy({2, 2, 2, 3});
  TestTensor dx({2, 4, 5, 3});
  EXPECT_THAT(MaxPoolBackward(*ctx, x.view(), dy.view(), params, dx.view()),
              Fails(kInvalid, {"dx has shape (2, 4, 5, 3)"}));
  const TestTensor matrix({4, 3});
  EXPECT_THAT(MaxPool(*ctx, matrix.view(), params, y.view()),
              Fails(kInvalid, {"x has shape (4, 3), must have rank 4"}));
  EXPECT_THAT(MaxPoolOutputShape(matrix.shape(), params),
              Fails(kInvalid, {"must have rank 4"}));
  EXPECT_THAT(AvgPoolOutputShape(matrix.shape(), params),
              Fails(kInvalid, {"must have rank 4"}));
  EXPECT_THAT(MaxPoolOutputShape(x.shape(), {5, 5, {1, 1}, Padding::Valid()}),
              Fails(kInvalid, {"window of 5 x 5 does not fit"}));
}

class GlobalAvgPoolTest
    : public ::testing::TestWithParam<std::tuple<Shape, int64_t>> {};

TEST_P(GlobalAvgPoolTest, AgreesWithReference) {
  const auto& [shape, gap] = GetParam();
  const PoolCase whole{
      "", shape, {shape[1], shape[2], {1, 1}, Padding::Valid()}};
  const ReferencePool reference = Reference(whole, false);
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
