#include "core/ops/conv2d.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/support/compare.h"
#include "tests/support/gradient_check.h"
#include "tests/support/make_context.h"
#include "tests/support/reference_conv2d.h"
#include "tests/support/test_tensor.h"
#include "tests/support/test_workspace.h"

namespace densenet {
namespace {

using testing::BitwiseEqual;
using testing::Dot;
using testing::GradientMatches;
using ::testing::HasSubstr;
using testing::MakeContext;
using testing::Near;
using testing::ReferenceConv2d;
using testing::TestTensor;
using testing::TestWorkspace;

struct Conv2dCase {
  std::string name;
  Shape x;
  Shape filter;
  Conv2dParams params;
};

std::vector<Conv2dCase> Cases() {
  const Padding same = Padding::Same();
  const Padding valid = Padding::Valid();
  return {
      {"Scalar", {1, 1, 1, 1}, {1, 1, 1, 1}, {{1, 1}, valid}},
      {"Stem", {5, 8, 8, 3}, {3, 3, 3, 24}, {{1, 1}, same}},
      {"ImageNetStem", {2, 23, 21, 3}, {7, 7, 3, 16}, {{2, 2}, same}},
      {"OddExtents", {3, 7, 5, 5}, {3, 3, 5, 7}, {{1, 1}, same}},
      {"OneByOne", {4, 5, 3, 33}, {1, 1, 33, 17}, {{1, 1}, valid}},
      {"OneByOneStrided", {2, 7, 6, 8}, {1, 1, 8, 4}, {{2, 2}, same}},
      {"Valid", {2, 9, 8, 16}, {3, 2, 16, 12}, {{1, 1}, valid}},
      {"StridedValid", {2, 11, 9, 4}, {3, 3, 4, 6}, {{3, 2}, valid}},
      {"SameEvenFilter", {2, 6, 7, 3}, {4, 2, 3, 5}, {{1, 1}, same}},
      {"Explicit",
       {2, 6, 5, 4},
       {3, 3, 4, 8},
       {{2, 1}, Padding::Explicit(2, 0, 1, 2)}},
      {"PaddingBeyondFilter",
       {2, 4, 4, 2},
       {2, 2, 2, 3},
       {{1, 1}, Padding::Explicit(3, 2, 4, 0)}},
      {"FilterLargerThanImage", {1, 2, 3, 4}, {5, 5, 4, 3}, {{1, 1}, same}},
      // More images than chunks, of two sizes.
      {"ManyImages", {37, 3, 3, 2}, {3, 3, 2, 3}, {{1, 1}, same}},
      {"Wide", {2, 6, 6, 48}, {3, 3, 48, 12}, {{1, 1}, same}},
  };
}

ReferenceConv2d Reference(const Conv2dCase& test) {
  const Shape y = *Conv2dOutputShape(test.x, test.filter, test.params);
  const WindowGeometry g =
      *ResolveWindow("test", test.x[1], test.x[2], test.filter[0],
                     test.filter[1], test.params.stride, test.params.padding);
  return {test.x[0],
          test.x[1],
          test.x[2],
          test.x[3],
          test.filter[0],
          test.filter[1],
          test.filter[3],
          test.params.stride.h,
          test.params.stride.w,
          g.top,
          g.left,
          y[1],
          y[2]};
}

// Runs all three operations with one number of threads and one gap.
struct Conv2dRun {
  TestTensor x, filter, dy, y, dx, dw;

  Conv2dRun(const Conv2dCase& test, int threads, int64_t gap)
      : x(TestTensor::Random(test.x, 1, gap)),
        filter(TestTensor::Random(test.filter, 2)),
        dy(TestTensor::Random(OutputShape(test), 3, 2 * gap)),
        y(OutputShape(test), 3 * gap),
        dx(test.x, gap),
        dw(test.filter) {
    const auto ctx = MakeContext(threads);
    {
      TestWorkspace scratch(*Conv2dForwardWorkspaceBytes(
          *ctx, x.view(), filter.view(), test.params, y.view()));
      EXPECT_EQ(OkStatus(),
                Conv2dForward(*ctx, x.view(), filter.view(), test.params,
                              y.view(), scratch.span()));
      EXPECT_TRUE(scratch.Intact());
    }
    {
      TestWorkspace scratch(*Conv2dBackwardDataWorkspaceBytes(
          *ctx, dy.view(), filter.view(), test.params, dx.view()));
      EXPECT_EQ(OkStatus(),
                Conv2dBackwardData(*ctx, dy.view(), filter.view(), test.params,
                                   dx.view(), scratch.span()));
      EXPECT_TRUE(scratch.Intact());
    }
    TestWorkspace scratch(*Conv2dBackwardFilterWorkspaceBytes(
        *ctx, x.view(), dy.view(), test.params, dw.view()));
    EXPECT_EQ(OkStatus(),
              Conv2dBackwardFilter(*ctx, x.view(), dy.view(), test.params,
                                   dw.view(), scratch.span()));
    EXPECT_TRUE(scratch.Intact());
  }

  static Shape OutputShape(const Conv2dCase& test) {
    return *Conv2dOutputShape(test.x, test.filter, test.params);
  }
};

class Conv2dTest
    : public ::testing::TestWithParam<std::tuple<Conv2dCase, int64_t>> {
 protected:
  const Conv2dCase& test() const { return std::get<0>(GetParam()); }
  int64_t gap() const { return std::get<1>(GetParam()); }
};

TEST_P(Conv2dTest, AgreesWithReference) {
  const Conv2dRun run(test(), 2, gap());
  const ReferenceConv2d reference = Reference(test());
  const auto x = run.x.ToDoubles();
  const auto w = run.filter.ToDoubles();
  const auto dy = run.dy.ToDoubles();
  const int64_t taps = reference.r * reference.s;
  EXPECT_TRUE(Near(run.y.view(), reference.Forward(x, w), taps * reference.c));
  EXPECT_TRUE(
      Near(run.dx.view(), reference.BackwardData(dy, w), taps * reference.k));
  EXPECT_TRUE(Near(run.dw.view(), reference.BackwardFilter(x, dy),
                   reference.n * reference.p * reference.q));
  EXPECT_TRUE(run.x.GapsUntouched());
  EXPECT_TRUE(run.y.GapsUntouched());
  EXPECT_TRUE(run.dx.GapsUntouched());
}

TEST_P(Conv2dTest, DoesNotDependOnThreads) {
  const Conv2dRun one(test(), 1, gap());
  for (int threads : {2, 3}) {
    const Conv2dRun other(test(), threads, gap());
    EXPECT_TRUE(BitwiseEqual(one.y.view(), other.y.view()));
    EXPECT_TRUE(BitwiseEqual(one.dx.view(), other.dx.view()));
    EXPECT_TRUE(BitwiseEqual(one.dw.view(), other.dw.view()));
  }
}

TEST_P(Conv2dTest, DoesNotDependOnStrides) {
  const Conv2dRun packed(test(), 2, 0);
  const Conv2dRun strided(test(), 2, gap() + 5);
  EXPECT_TRUE(BitwiseEqual(packed.y.view(), strided.y.view()));
  EXPECT_TRUE(BitwiseEqual(packed.dx.view(), strided.dx.view()));
  EXPECT_TRUE(BitwiseEqual(packed.dw.view(), strided.dw.view()));
}

INSTANTIATE_TEST_SUITE_P(All, Conv2dTest,
                         ::testing::Combine(::testing::ValuesIn(Cases()),
                                            ::testing::Values(int64_t{0},
                                                              int64_t{3})),
                         [](const auto& param) {
                           return std::get<0>(param.param).name +
                                  (std::get<1>(param.param) == 0 ? "Packed"
                                                                 : "Strided");
                         });

TEST(Conv2dReferenceTest, GradientsAreCentralDifferences) {
  for (const Conv2dCase& test : Cases()) {
    if (test.name == "ImageNetStem") continue;  // slow and no different
    SCOPED_TRACE(test.name);
    const ReferenceConv2d reference = Reference(test);
    const auto x = TestTensor::Random(test.x, 1).ToDoubles();
    const auto w = TestTensor::Random(test.filter, 2).ToDoubles();
    const auto dy =
        TestTensor::Random(Conv2dRun::OutputShape(test), 3).ToDoubles();
    EXPECT_TRUE(GradientMatches(
        [&](const auto& v) { return Dot(reference.Forward(v, w), dy); }, x,
        reference.BackwardData(dy, w), 4));
    EXPECT_TRUE(GradientMatches(
        [&](const auto& v) { return Dot(reference.Forward(x, v), dy); }, w,
        reference.BackwardFilter(x, dy), 5));
  }
}

// Errors: x (2, 4, 4, 3) by w (3, 3, 3, 5), SAME.
class Conv2dErrorTest : public ::testing::Test {
 protected:
  Status Forward(ConstTensorView x, ConstTensorView filter, TensorView y,
                 int64_t bytes = 1 << 20) {
    TestWorkspace scratch(bytes);
    return Conv2dForward(*ctx_, x, filter, params_, y, scratch.span());
  }
  static void ExpectInvalid(const Status& status, const std::string& part) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(StdView(status.message())), HasSubstr(part));
  }

  std::unique_ptr<Context> ctx_ = MakeContext(1);
  Conv2dParams params_{{1, 1}, Padding::Same()};
  TestTensor x_{{2, 4, 4, 3}};
  TestTensor filter_{{3, 3, 3, 5}};
  TestTensor y_{{2, 4, 4, 5}};
};

TEST_F(Conv2dErrorTest, ShapesNameBothTensors) {
  const TestTensor channels({2, 4, 4, 6});
  ExpectInvalid(Forward(channels.view(), filter_.view(), y_.view()),
                "Conv2dForward: w has C=3, x has C=6");
  const TestTensor matrix({4, 3});
  ExpectInvalid(Forward(matrix.view(), filter_.view(), y_.view()),
                "x has shape (4, 3) and w has shape (3, 3, 3, 5)");
  TestTensor y({2, 4, 5, 5});
  ExpectInvalid(Forward(x_.view(), filter_.view(), y.view()),
                "y has shape (2, 4, 5, 5), must be (2, 4, 4, 5)");
}

TEST_F(Conv2dErrorTest, EmptyBatch) {
  const TestTensor x({0, 4, 4, 3});
  ExpectInvalid(Forward(x.view(), filter_.view(), y_.view()),
                "every extent must be at least 1");
}

TEST_F(Conv2dErrorTest, TypesAndDevices) {
  const ConstTensorView ints(x_.view().raw(), DType::kInt32, x_.shape());
  ExpectInvalid(Forward(ints, filter_.view(), y_.view()),
                "x is int32, must be float32");
  const ConstTensorView elsewhere(x_.view().raw(), DType::kFloat32, x_.shape(),
                                  Device::Cuda(0));
  ExpectInvalid(Forward(elsewhere, filter_.view(), y_.view()),
                "x is on cuda:0, the context on cpu");
}

TEST_F(Conv2dErrorTest, Strides) {
  const TestTensor wide({2, 4, 8, 3});
  ExpectInvalid(Forward(wide.view().Slice(2, 0, 4), filter_.view(), y_.view()),
                "it must be rows of adjacent elements");
  const TestTensor filter({3, 3, 3, 5}, 1);
  ExpectInvalid(Forward(x_.view(), filter.view(), y_.view()), "must be packed");
}

TEST_F(Conv2dErrorTest, Geometry) {
  params_ = {{0, 1}, Padding::Same()};
  ExpectInvalid(Forward(x_.view(), filter_.view(), y_.view()), "stride");
  params_ = {{1, 1}, Padding::Explicit(0, -1, 0, 0)};
  ExpectInvalid(Forward(x_.view(), filter_.view(), y_.view()), "negative");
  params_ = {{1, 1}, Padding::Valid()};
  const TestTensor filter({5, 1, 3, 5});
  ExpectInvalid(Forward(x_.view(), filter.view(), y_.view()),
                "window of 5 x 1 does not fit the image of 4 x 4");
  EXPECT_FALSE(Conv2dOutputShape(x_.shape(), filter.shape(), params_).ok());
}

TEST_F(Conv2dErrorTest, HugeImage) {
  const ConstTensorView x(nullptr, DType::kFloat32, {1, 1 << 16, 1 << 16, 3});
  const TensorView y(nullptr, DType::kFloat32, {1, 1 << 16, 1 << 16, 5});
  ExpectInvalid(
      Conv2dForwardWorkspaceBytes(*ctx_, x, filter_.view(), params_, y)
          .status(),
      "more than 2^31 - 1");
}

TEST_F(Conv2dErrorTest, Workspace) {
  TestTensor strided({2, 4, 4, 5}, 1);
  const int64_t needed = *Conv2dForwardWorkspaceBytes(
      *ctx_, x_.view(), filter_.view(), params_, strided.view());
  ASSERT_GT(needed, 0);
  ExpectInvalid(Forward(x_.view(), filter_.view(), strided.view(), needed - 1),
                "workspace of");
  TestWorkspace scratch(needed + 1);
  ExpectInvalid(Conv2dForward(*ctx_, x_.view(), filter_.view(), params_,
                              strided.view(), scratch.span().subspan(1)),
                "not aligned");
}

TEST_F(Conv2dErrorTest, GradientsNameTheirTensors) {
  TestWorkspace scratch(1 << 20);
  TestTensor dx({2, 4, 4, 6});
  ExpectInvalid(Conv2dBackwardData(*ctx_, y_.view(), filter_.view(), params_,
                                   dx.view(), scratch.span()),
                "Conv2dBackwardData: w has C=3, dx has C=6");
  TestTensor dw({3, 3, 3, 4});
  ExpectInvalid(
      Conv2dBackwardFilter(*ctx_, x_.view(), y_.view(), params_, dw.view(),
                           scratch.span()),
      "Conv2dBackwardFilter: dy has shape (2, 4, 4, 5), must be (2, 4, 4, 4)");
}

}  // namespace
}  // namespace densenet
