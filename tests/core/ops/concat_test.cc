#include "core/ops/concat.h"

#include <gtest/gtest.h>

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
using ::densenet::testing::TestTensor;

TEST(ConcatTest, SlicingIsItsInverseOnEveryAxis) {
  const auto ctx = MakeContext(2);
  for (int axis : {0, 1, 2, -1}) {
    std::vector<TestTensor> parts;
    std::vector<ConstTensorView> views;
    std::vector<Shape> shapes;
    for (int64_t extent : {1, 4, 2}) {
      Shape shape = {3, 5, 7};
      shape.set_dim(axis, extent);
      parts.push_back(TestTensor::Random(shape, extent, extent));
      shapes.push_back(shape);
    }
    for (const TestTensor& part : parts) views.push_back(part.view());
    StatusOr<Shape> joint = ConcatShape(shapes, axis);
    ASSERT_OK(joint);
    EXPECT_EQ(joint->dim(axis), 7);
    TestTensor y(*joint, 2);
    ASSERT_OK(Concat(*ctx, views, axis, y.view()));
    EXPECT_TRUE(y.GapsUntouched());
    int64_t at = 0;
    for (const ConstTensorView& part : views) {
      EXPECT_TRUE(BitwiseEqual(
          y.const_view().Slice(axis, at, at + part.dim(axis)), part));
      at += part.dim(axis);
    }
  }
}

TEST(ConcatTest, ErrorsNameTheOddOne) {
  constexpr StatusCode kCode = StatusCode::kInvalidArgument;
  EXPECT_THAT(ConcatShape({}, 0), Fails(kCode, {"xs is empty"}));
  const std::vector<Shape> odd = {{2, 3}, {2, 4}, {1, 4}};
  EXPECT_THAT(ConcatShape(odd, 1),
              Fails(kCode, {"xs[2] is (1, 4), xs[0] (2, 3)"}));
  EXPECT_THAT(ConcatShape(odd, 2), Fails(kCode, {"axis 2 of a tensor of 2"}));
}

}  // namespace
}  // namespace densenet
