#include "parallel/batch_split.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/cpu/chunks.h"

namespace densenet {
namespace {

TEST(SplitBatch, SharesAreWholeChunksInOrderThatCoverTheBatch) {
  constexpr int64_t kChunks = 16;
  for (int64_t images : {1, 2, 5, 15, 16, 17, 31, 64, 1001}) {
    const FixedChunks all(images, 1, kChunks);
    for (int towers : {1, 2, 3, 4, 7, 16, 40}) {
      const std::vector<BatchShare> shares =
          SplitBatch(images, kChunks, towers);
      EXPECT_EQ(static_cast<int64_t>(shares.size()),
                std::min<int64_t>(towers, all.count()));
      int64_t image = 0;
      int64_t chunk = 0;
      for (const BatchShare& s : shares) {
        EXPECT_EQ(s.first_image, image);
        EXPECT_EQ(s.first_chunk, chunk);
        EXPECT_EQ(s.batch_images, images);
        EXPECT_EQ(s.batch_chunks, all.count());
        EXPECT_GE(s.images, 1);
        EXPECT_LE(s.images, LargestShare(1001, kChunks, towers));
        // A tower's own chunks are those of the batch.
        const FixedChunks own = FixedChunks::Of(s.images, s.chunks);
        ASSERT_EQ(own.count(), s.chunks);
        for (int64_t i = 0; i < s.chunks; ++i) {
          EXPECT_EQ(own.chunk(i).begin + image, all.chunk(chunk + i).begin);
          EXPECT_EQ(own.chunk(i).size(), all.chunk(chunk + i).size());
        }
        image += s.images;
        chunk += s.chunks;
      }
      EXPECT_EQ(image, images);
      EXPECT_EQ(chunk, all.count());
      const auto [least, most] =
          std::minmax_element(shares.begin(), shares.end(),
                              [](const BatchShare& a, const BatchShare& b) {
                                return a.chunks < b.chunks;
                              });
      EXPECT_LE(most->chunks - least->chunks, 1);
    }
  }
}

TEST(SplitBatch, LargestShareIsThatOfAnySmallerBatch) {
  for (int64_t most : {1, 7, 16, 20, 100}) {
    for (int towers : {1, 2, 3, 5}) {
      int64_t largest = 0;
      for (int64_t images = 1; images <= most; ++images) {
        for (const BatchShare& s : SplitBatch(images, 16, towers)) {
          largest = std::max(largest, s.images);
        }
      }
      EXPECT_EQ(LargestShare(most, 16, towers), largest)
          << most << " images, " << towers << " towers";
    }
  }
}

}  // namespace
}  // namespace densenet
