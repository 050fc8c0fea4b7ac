#include "core/ops/views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/ops/copy.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::MakeContext;
using ::densenet::testing::TestTensor;
using ::densenet::testing::ToVector;

TEST(ReshapeTest, InfersOneExtent) {
  EXPECT_EQ(*ReshapedShape({2, 3, 4}, {-1}), Shape({24}));
  EXPECT_EQ(*ReshapedShape({2, 3, 4}, {4, -1}), Shape({4, 6}));
  EXPECT_EQ(*ReshapedShape({2, 3, 4}, {6, 2, 2}), Shape({6, 2, 2}));
  EXPECT_EQ(*ReshapedShape({}, {1, -1}), Shape({1, 1}));
  EXPECT_EQ(*ReshapedShape({0, 3}, {-1, 3}), Shape({0, 3}));
}

TEST(ReshapeTest, ErrorsSayWhy) {
  constexpr StatusCode kCode = StatusCode::kInvalidArgument;
  EXPECT_THAT(ReshapedShape({2, 3}, {-1, -1}),
              Fails(kCode, {"(-1, -1) has more than one -1"}));
  EXPECT_THAT(ReshapedShape({2, 3}, {-1, 4}),
              Fails(kCode, {"6 elements, not a multiple of the 4"}));
  EXPECT_THAT(ReshapedShape({2, 3}, {-1, 0}), Fails(kCode, {"multiple"}));
  EXPECT_THAT(ReshapedShape({2, 3}, {5}),
              Fails(kCode, {"x (2, 3) has 6 elements, to (5) has 5"}));
  EXPECT_THAT(ReshapedShape({2, 3}, {-2, 3}), Fails(kCode, {"below -1"}));
  const TestTensor x({2, 3}, 1);
  EXPECT_THAT(ReshapeView(x.view(), {6}), Fails(kCode, {"not packed"}));
}

TEST(ReshapeTest, KeepsTheElements) {
  const TestTensor x = TestTensor::Random({2, 3, 4}, 1);
  StatusOr<ConstTensorView> y = ReshapeView(x.view(), {4, -1});
  ASSERT_OK(y);
  EXPECT_EQ(y->raw(), x.view().raw());
  EXPECT_EQ(ToVector(*y), x.ToDoubles());
}

TEST(SliceTest, PicksTheRange) {
  const TestTensor x = TestTensor::FromVector(
      {3, 4}, {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}, 2);
  StatusOr<ConstTensorView> y = SliceView(x.view(), {1, 1}, {-1, 2});
  ASSERT_OK(y);
  EXPECT_EQ(y->shape(), Shape({2, 2}));
  EXPECT_EQ(ToVector(*y), std::vector<double>({11, 12, 21, 22}));
  EXPECT_EQ(SliceView(x.view(), {3, 0}, {-1, -1})->shape(), Shape({0, 4}));
}

TEST(SliceTest, ErrorsNameTheAxis) {
  constexpr StatusCode kCode = StatusCode::kInvalidArgument;
  const TestTensor x({3, 4});
  EXPECT_THAT(SliceView(x.view(), {0, 2}, {3, 3}),
              Fails(kCode, {"leave axis 1 of x (3, 4)", "<= 4"}));
  EXPECT_THAT(SliceView(x.view(), {-1, 0}, {1, 1}), Fails(kCode, {"axis 0"}));
  EXPECT_THAT(SliceView(x.view(), {4, 0}, {-1, 1}), Fails(kCode, {"axis 0"}));
  EXPECT_THAT(SliceView(x.view(), {0}, {1}), Fails(kCode, {"2 axes"}));
}

TEST(TransposeTest, EveryPermutationMovesEveryElement) {
  const Shape shape = {2, 3, 4, 5};
  const TestTensor x = TestTensor::Random(shape, 1, 1);
  const auto ctx = MakeContext(2);
  std::vector<int> permutation(4);
  std::iota(permutation.begin(), permutation.end(), 0);
  do {
    StatusOr<ConstTensorView> view = TransposeView(x.view(), permutation);
    ASSERT_OK(view);
    TestTensor y(view->shape());
    ASSERT_OK(Copy(*ctx, *view, y.view()));
    for (int64_t i = 0; i < x.elems(); ++i) {
      int64_t rest = i;
      int64_t index[4];
      for (int axis = 3; axis >= 0; --axis) {
        index[axis] = rest % shape.dim(axis);
        rest /= shape.dim(axis);
      }
      int64_t at = 0;
      for (int axis = 0; axis < 4; ++axis) {
        at = at * y.shape().dim(axis) + index[permutation[axis]];
      }
      ASSERT_EQ(y.at(at), x.at(i));
    }
  } while (std::next_permutation(permutation.begin(), permutation.end()));
}

TEST(TransposeTest, RefusesWhatIsNoPermutation) {
  const TestTensor x({2, 3, 4});
  for (const std::vector<int>& bad :
       {std::vector<int>{0, 1}, {0, 1, 1}, {0, 1, 3}, {-1, 0, 1}}) {
    EXPECT_THAT(TransposeView(x.view(), bad),
                Fails(StatusCode::kInvalidArgument,
                      {"not a permutation of the 3 axes of x (2, 3, 4)"}));
  }
}

}  // namespace
}  // namespace densenet
