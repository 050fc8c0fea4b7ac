#include "core/ops/elementwise_cuda.h"

#include <gtest/gtest.h>

#include <ostream>
#include <tuple>
#include <vector>

#include "core/ops/elementwise.h"
#include "tests/support/compare.h"
#include "tests/support/cuda_test.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::CudaTest;
using ::densenet::testing::DeviceTensor;
using ::densenet::testing::MakeContext;
using ::densenet::testing::TestTensor;

struct Shapes {
  Shape a, b, y;

  friend void PrintTo(const Shapes& shapes, std::ostream* out) {
    *out << shapes.a << " and " << shapes.b;
  }
};

// The CPU's results, which face the float64 reference, are one rounding: the
// card must give the same bits.
class ElementwiseCudaTest
    : public CudaTest,
      public ::testing::WithParamInterface<std::tuple<Shapes, int>> {};

TEST_P(ElementwiseCudaTest, GivesTheBitsOfTheCpu) {
  const auto& [shapes, gap] = GetParam();
  const auto cpu = MakeContext();
  TestTensor a = TestTensor::Random(shapes.a, 1, gap);
  TestTensor b = TestTensor::Random(shapes.b, 2);
  TestTensor expected(shapes.y, 2 * gap);
  TestTensor y(shapes.y, 2 * gap);
  const DeviceTensor card_a = ToDevice(a);
  const DeviceTensor card_b = ToDevice(b);
  const DeviceTensor card_y = ToDevice(y);
  for (auto* op : {&Add, &Subtract, &Multiply}) {
    ASSERT_OK(op(*cpu, a.view(), b.view(), expected.view()));
    ASSERT_OK(op(ctx(), card_a.view(), card_b.view(), card_y.view()));
    card_y.Read(ctx(), y);
    EXPECT_TRUE(BitwiseEqual(y.view(), expected.view()));
    EXPECT_TRUE(y.GapsUntouched());
  }
}

TEST_P(ElementwiseCudaTest, ScaleAndNegateToo) {
  const auto& [shapes, gap] = GetParam();
  TestTensor x = TestTensor::Random(shapes.y, 3, gap);
  TestTensor y(shapes.y);
  const DeviceTensor card_x = ToDevice(x);
  const DeviceTensor card_y = ToDevice(y);
  ASSERT_OK(Scale(ctx(), card_x.view(), 0.3f, card_y.view()));
  card_y.Read(ctx(), y);
  for (int64_t i = 0; i < x.elems(); ++i) ASSERT_EQ(y.at(i), x.at(i) * 0.3f);
  ASSERT_OK(Negate(ctx(), card_x.view(), card_y.view()));
  card_y.Read(ctx(), y);
  for (int64_t i = 0; i < x.elems(); ++i) ASSERT_EQ(y.at(i), -x.at(i));
}

INSTANTIATE_TEST_SUITE_P(
    Broadcasts, ElementwiseCudaTest,
    ::testing::Combine(
        ::testing::Values(Shapes{{1}, {1}, {1}},
                          Shapes{{3, 5, 7, 11}, {3, 5, 7, 11}, {3, 5, 7, 11}},
                          Shapes{{3, 5, 7, 11}, {11}, {3, 5, 7, 11}},
                          Shapes{{5, 1, 3}, {4, 1}, {5, 4, 3}},
                          Shapes{{2, 300, 300}, Shape(), {2, 300, 300}}),
        ::testing::Values(0, 3)));

}  // namespace
}  // namespace densenet
