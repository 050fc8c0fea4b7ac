#include "core/cuda/grid.h"

#include <gtest/gtest.h>

#include <vector>

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

TEST(GridTest, StridedOffsetBeyond32Bits) {
  EXPECT_EQ(StridedOffset(0, 12, 100), 0);
  EXPECT_EQ(StridedOffset(11, 12, 100), 11);
  EXPECT_EQ(StridedOffset(12, 12, 100), 100);
  EXPECT_EQ(StridedOffset(25, 12, 100), 201);
  const int64_t row = int64_t{1} << 31;
  EXPECT_EQ(StridedOffset(row * 3 + 2, 3, 1 << 10), (row << 10) + 2);
}

}  // namespace
}  // namespace densenet
