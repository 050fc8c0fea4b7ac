#include "core/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace densenet {
namespace {

TEST(ShapeTest, CountsFromBothEnds) {
  const Shape shape = {64, 32, 16, 24};
  EXPECT_EQ(shape.rank(), 4);
  EXPECT_EQ(shape.dim(0), 64);
  EXPECT_EQ(shape[-1], 24);
  EXPECT_EQ(shape[-4], 64);
  EXPECT_EQ(shape.elems(), 64 * 32 * 16 * 24);
  EXPECT_EQ(shape.ToString(), "(64, 32, 16, 24)");
}

TEST(ShapeTest, RankZeroIsOneElement) {
  const Shape shape;
  EXPECT_EQ(shape.rank(), 0);
  EXPECT_EQ(shape.elems(), 1);
  EXPECT_EQ(shape.ToString(), "()");
  EXPECT_EQ(PackedStrides(shape), Shape());
}

TEST(ShapeTest, EqualityLooksAtTheExtentsInUse) {
  Shape a = {1, 2};
  const Shape b = {1, 2, 0};
  EXPECT_NE(a, b);
  a.Append(0);
  EXPECT_EQ(a, b);
  a.set_dim(-1, 5);
  EXPECT_NE(a, b);
}

TEST(ShapeTest, PackedStridesBeyond32Bits) {
  const Shape shape = {3, 70000, 70000, 5};
  EXPECT_EQ(PackedStrides(shape),
            Shape({int64_t{70000} * 70000 * 5, 350000, 5, 1}));
  EXPECT_EQ(shape.elems(), int64_t{3} * 70000 * 70000 * 5);
}

TEST(ShapeTest, EmptyExtent) {
  const Shape shape = {4, 0, 3};
  EXPECT_EQ(shape.elems(), 0);
  EXPECT_EQ(PackedStrides(shape), Shape({0, 3, 1}));
}

TEST(ShapeDeathTest, WrongAxesAndCountsAreOurBugs) {
  const Shape shape = {2, 3};
  EXPECT_DEATH(shape.dim(2), "axis 2 of \\(2, 3\\)");
  EXPECT_DEATH(shape.dim(-3), "axis");
  const Shape huge = {std::numeric_limits<int64_t>::max(), 2};
  EXPECT_DEATH(huge.elems(), "more elements than int64 counts");
  EXPECT_DEATH(PackedStrides(huge), "more elements than int64 counts");
  EXPECT_DEATH(Shape(std::vector<int64_t>(kMaxRank + 1, 1)), "");
}

}  // namespace
}  // namespace densenet
