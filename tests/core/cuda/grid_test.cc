#include "core/cuda/grid.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/shape.h"

namespace densenet {
namespace {

TEST(GridTest, BlocksFillTheCardAndNoMore) {
  EXPECT_EQ(GridStrideBlocks(0, 256, 132), 0);
  EXPECT_EQ(GridStrideBlocks(1, 256, 132), 1);
  EXPECT_EQ(GridStrideBlocks(256, 256, 132), 1);
  EXPECT_EQ(GridStrideBlocks(257, 256, 132), 2);
  EXPECT_EQ(GridStrideBlocks(int64_t{1} << 40, 256, 132),
            132 * kBlocksPerMultiprocessor);
}

// Walks the loop that every grid-stride kernel writes.
TEST(GridTest, GridStrideLoopVisitsEachItemOnce) {
  constexpr int kBlock = 32;
  for (int64_t items : {1, 31, 32, 33, 1000, 5000}) {
    const int64_t blocks = GridStrideBlocks(items, kBlock, 2);
    std::vector<int> visits(items, 0);
    for (int64_t block = 0; block < blocks; ++block) {
      for (int thread = 0; thread < kBlock; ++thread) {
        for (int64_t i = block * kBlock + thread; i < items;
             i += blocks * kBlock) {
          ++visits[i];
        }
      }
    }
    for (int v : visits) ASSERT_EQ(v, 1) << items << " items";
  }
}

StridedIndex IndexOf(const Shape& shape, const Shape& strides) {
  StridedIndex index;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    index.Append(shape.dim(axis), strides.dim(axis));
  }
  return index;
}

TEST(StridedIndexTest, WalksTheViewInRowMajorOrder) {
  const Shape shape = {3, 1, 4, 5};
  for (const Shape& strides :
       {PackedStrides(shape), Shape{36, 7, 9, 1}, Shape{0, 0, 5, 1},
        Shape{20, 20, 0, 0}, Shape{0, 0, 0, 3}, Shape{1, 1, 3, 12},
        Shape{0, 0, 0, 0}, Shape{100, 0, 5, 1}}) {
    const StridedIndex index = IndexOf(shape, strides);
    int64_t i = 0;
    for (int64_t a = 0; a < 3; ++a) {
      for (int64_t c = 0; c < 4; ++c) {
        for (int64_t d = 0; d < 5; ++d) {
          ASSERT_EQ(index.Offset(i++), a * strides.dim(0) + c * strides.dim(2) +
                                           d * strides.dim(3))
              << strides;
        }
      }
    }
  }
  EXPECT_EQ(IndexOf(Shape(), Shape()).Offset(0), 0);
  EXPECT_EQ(IndexOf({1, 1}, {9, 9}).Offset(0), 0);
}

TEST(StridedIndexTest, OffsetsBeyond32Bits) {
  const int64_t rows = int64_t{1} << 31;
  const StridedIndex prefix = IndexOf({rows, 3}, {1 << 10, 1});
  EXPECT_EQ(prefix.Offset((rows - 1) * 3 + 2), ((rows - 1) << 10) + 2);
  const StridedIndex packed = IndexOf({rows, 3}, {3, 1});
  EXPECT_EQ(packed.Offset(rows * 3 - 1), rows * 3 - 1);
}

}  // namespace
}  // namespace densenet
