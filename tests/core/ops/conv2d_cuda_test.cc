#include "core/ops/conv2d_cuda.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "core/ops/conv2d.h"
#include "tests/support/compare.h"
#include "tests/support/cuda_test.h"
#include "tests/support/reference_conv2d.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::CudaTest;
using ::densenet::testing::DeviceTensor;
using ::densenet::testing::Near;
using ::densenet::testing::ReferenceConv2d;
using ::densenet::testing::TestTensor;

struct Conv2dCase {
  std::string name;
  Shape x;
  Shape filter;
  Conv2dParams params;
};

// case, row gap
class Conv2dCudaTest
    : public CudaTest,
      public ::testing::WithParamInterface<std::tuple<Conv2dCase, int>> {
 protected:
  ReferenceConv2d Reference() const {
    const Conv2dCase& c = std::get<0>(GetParam());
    const WindowGeometry g =
        *ResolveWindow("test", c.x[1], c.x[2], c.filter[0], c.filter[1],
                       c.params.stride, c.params.padding);
    return {c.x[0],
            c.x[1],
            c.x[2],
            c.x[3],
            c.filter[0],
            c.filter[1],
            c.filter[3],
            c.params.stride.h,
            c.params.stride.w,
            g.top,
            g.left,
            g.out_h,
            g.out_w};
  }
};

TEST_P(Conv2dCudaTest, ThreeOperationsMatchFloat64) {
  const auto& [c, gap] = GetParam();
  const ReferenceConv2d reference = Reference();
  const Shape out = *Conv2dOutputShape(c.x, c.filter, c.params);
  TestTensor x = TestTensor::Random(c.x, 1, gap);
  TestTensor w = TestTensor::Random(c.filter, 2);
  TestTensor dy = TestTensor::Random(out, 3, 2 * gap);
  TestTensor y(out, 3 * gap);
  TestTensor dx(c.x, gap);
  TestTensor dw(c.filter);
  const DeviceTensor card_x = ToDevice(x);
  const DeviceTensor card_w = ToDevice(w);
  const DeviceTensor card_dy = ToDevice(dy);
  const DeviceTensor card_y = ToDevice(y);
  const DeviceTensor card_dx = ToDevice(dx);
  const DeviceTensor card_dw = ToDevice(dw);

  StatusOr<int64_t> bytes = Conv2dForwardWorkspaceBytes(
      ctx(), card_x.view(), card_w.view(), c.params, card_y.view());
  ASSERT_OK(bytes);
  ASSERT_OK(Conv2dForward(ctx(), card_x.view(), card_w.view(), c.params,
                          card_y.view(), Workspace(*bytes)));
  card_y.Read(ctx(), y);
  EXPECT_TRUE(Near(y.view(), reference.Forward(x.ToDoubles(), w.ToDoubles()),
                   c.filter[0] * c.filter[1] * c.filter[2]));
  EXPECT_TRUE(y.GapsUntouched());

  bytes = Conv2dBackwardDataWorkspaceBytes(ctx(), card_dy.view(), card_w.view(),
                                           c.params, card_dx.view());
  ASSERT_OK(bytes);
  ASSERT_OK(Conv2dBackwardData(ctx(), card_dy.view(), card_w.view(), c.params,
                               card_dx.view(), Workspace(*bytes)));
  card_dx.Read(ctx(), dx);
  EXPECT_TRUE(Near(dx.view(),
                   reference.BackwardData(dy.ToDoubles(), w.ToDoubles()),
                   c.filter[0] * c.filter[1] * c.filter[3]));
  EXPECT_TRUE(dx.GapsUntouched());

  bytes = Conv2dBackwardFilterWorkspaceBytes(
      ctx(), card_x.view(), card_dy.view(), c.params, card_dw.view());
  ASSERT_OK(bytes);
  ASSERT_OK(Conv2dBackwardFilter(ctx(), card_x.view(), card_dy.view(), c.params,
                                 card_dw.view(), Workspace(*bytes)));
  card_dw.Read(ctx(), dw);
  EXPECT_TRUE(Near(dw.view(),
                   reference.BackwardFilter(x.ToDoubles(), dy.ToDoubles()),
                   out[0] * out[1] * out[2]));
}

std::vector<Conv2dCase> Cases() {
  const Padding same = Padding::Same();
  return {
      {"DenseLayer", {3, 9, 7, 48}, {3, 3, 48, 12}, {{1, 1}, same}},
      {"Stem", {5, 8, 8, 3}, {3, 3, 3, 24}, {{1, 1}, same}},
      {"ImageNetStem", {2, 23, 22, 3}, {7, 7, 3, 16}, {{2, 2}, same}},
      {"OneByOne", {4, 5, 3, 33}, {1, 1, 33, 17}, {{1, 1}, Padding::Valid()}},
      {"SameEvenFilter", {2, 6, 7, 3}, {4, 2, 3, 5}, {{1, 1}, same}},
      {"Explicit",
       {2, 6, 5, 4},
       {3, 3, 4, 8},
       {{2, 1}, Padding::Explicit(2, 0, 1, 2)}},
  };
}

INSTANTIATE_TEST_SUITE_P(Cases, Conv2dCudaTest,
                         ::testing::Combine(::testing::ValuesIn(Cases()),
                                            ::testing::Values(0, 5)),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "Gap" +
                                  std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace densenet
