#include "core/ops/affine_relu_cuda.h"

#include <gtest/gtest.h>

#include <tuple>

#include "core/ops/affine_relu.h"
#include "tests/support/affine_relu_reference.h"
#include "tests/support/compare.h"
#include "tests/support/cuda_test.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::AffineReluReference;
using ::densenet::testing::CudaTest;
using ::densenet::testing::DeviceTensor;
using ::densenet::testing::Near;
using ::densenet::testing::TestTensor;

// shape, row gap
class AffineReluCudaTest
    : public CudaTest,
      public ::testing::WithParamInterface<std::tuple<Shape, int>> {};

TEST_P(AffineReluCudaTest, MatchesFloat64AndTheCpuBitForBit) {
  const auto& [shape, gap] = GetParam();
  const int64_t channels = shape.dim(-1);
  TestTensor x = TestTensor::Random(shape, 1, gap);
  TestTensor s = TestTensor::Random({channels}, 2);
  TestTensor t = TestTensor::Random({channels}, 3);
  TestTensor y(shape, gap + 1);
  const DeviceTensor on_card = ToDevice(y);
  ASSERT_OK(AffineRelu(ctx(), ToDevice(x).view(), ToDevice(s).view(),
                       ToDevice(t).view(), on_card.view()));
  on_card.Read(ctx(), y);
  EXPECT_TRUE(Near(y.view(), AffineReluReference(x, s, t), 1));
  EXPECT_TRUE(y.GapsUntouched());
  for (int64_t i = 0; i < x.elems(); ++i) {
    const int64_t c = i % channels;
    ASSERT_EQ(y.at(i), AffineReluOf(x.at(i), s.at(c), t.at(c))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AffineReluCudaTest,
    ::testing::Combine(::testing::Values(Shape{1}, Shape{2, 3, 5, 1},
                                         Shape{3, 5, 7, 35},
                                         Shape{4, 133, 131, 19}),
                       ::testing::Values(0, 5)));

}  // namespace
}  // namespace densenet
