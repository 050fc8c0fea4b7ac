#include "core/ops/copy.h"

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

TEST(CopyTest, CopiesBetweenStridesOfEveryType) {
  const auto ctx = MakeContext(2);
  const TestTensor x = TestTensor::Random({3, 5, 7}, 1, 2);
  TestTensor y({3, 5, 7}, 4);
  ASSERT_OK(Copy(*ctx, x.view(), y.view()));
  EXPECT_TRUE(BitwiseEqual(x.view(), y.const_view()));
  EXPECT_TRUE(y.GapsUntouched());
  const int32_t numbers[6] = {1, 2, 3, 4, 5, 6};
  int32_t transposed[6] = {};
  ASSERT_OK(Copy(*ctx, ConstTensorView(numbers, DType::kInt32, {3, 2}, {1, 3}),
                 TensorView(transposed, DType::kInt32, {3, 2})));
  EXPECT_THAT(transposed, ::testing::ElementsAre(1, 4, 2, 5, 3, 6));
  const uint8_t bytes[2] = {7, 9};
  uint8_t repeated[4] = {};
  ASSERT_OK(Copy(*ctx, ConstTensorView(bytes, DType::kUInt8, {2}),
                 TensorView(repeated, DType::kUInt8, {2, 2})));
  EXPECT_THAT(repeated, ::testing::ElementsAre(7, 9, 7, 9));
}

TEST(CopyTest, FillsAndRefuses) {
  const auto ctx = MakeContext(1);
  TestTensor y({3, 4}, 1);
  ASSERT_OK(Fill(*ctx, 2.5f, y.view()));
  EXPECT_EQ(y.ToDoubles(), std::vector<double>(12, 2.5));
  EXPECT_TRUE(y.GapsUntouched());
  TestTensor x({5, 3, 4});
  EXPECT_THAT(Copy(*ctx, x.view(), y.view()),
              Fails(StatusCode::kInvalidArgument,
                    {"Copy: x (5, 3, 4) does not broadcast to y (3, 4)"}));
}

}  // namespace
}  // namespace densenet
