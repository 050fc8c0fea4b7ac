#include "core/cpu/chunks.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/cpu/workspace.h"
#include "tests/support/test_workspace.h"

namespace densenet {
namespace {

TEST(FixedChunksTest, CoverEveryItemOnceInOrder) {
  for (int64_t items : {1, 2, 15, 16, 17, 64, 1000, 1023}) {
    for (int64_t min_items : {1, 7, 64}) {
      for (int64_t max_chunks : {1, 16, 100}) {
        const FixedChunks chunks(items, min_items, max_chunks);
        ASSERT_GE(chunks.count(), 1);
        ASSERT_LE(chunks.count(), max_chunks);
        int64_t next = 0;
        for (int64_t i = 0; i < chunks.count(); ++i) {
          const Chunk chunk = chunks.chunk(i);
          EXPECT_EQ(chunk.begin, next);
          EXPECT_LE(chunk.size(), chunks.max_size());
          EXPECT_GE(chunk.size(), chunks.max_size() - 1);
          EXPECT_TRUE(chunk.size() >= min_items || chunks.count() == 1);
          next = chunk.end;
        }
        EXPECT_EQ(next, items);
      }
    }
  }
}

TEST(FixedChunksTest, NoItemsNoChunks) {
  const FixedChunks chunks(0, 4, 16);
  EXPECT_EQ(chunks.count(), 0);
  EXPECT_EQ(chunks.max_size(), 0);
}

TEST(FixedChunksTest, ParallelForVisitsEach) {
  ThreadPool threads(3);
  const FixedChunks chunks(101, 1, 16);
  std::vector<int> visits(101, 0);
  ParallelForChunks(threads, chunks,
                    [&](const Chunk& chunk, int64_t index, int) {
                      EXPECT_EQ(chunk.begin, chunks.chunk(index).begin);
                      for (int64_t i = chunk.begin; i < chunk.end; ++i) {
                        ++visits[i];
                      }
                    });
  EXPECT_EQ(visits, std::vector<int>(101, 1));
}

TEST(WorkspaceCutterTest, MeasuresWhatItCuts) {
  WorkspaceCutter measure;
  EXPECT_EQ(measure.Take<float>(3), nullptr);
  measure.Take<double>(0);
  measure.Take<double>(9);
  EXPECT_EQ(measure.used_bytes(), 64 + 0 + 128);
  testing::TestWorkspace memory(measure.used_bytes());
  WorkspaceCutter cut(memory.span());
  char* const first = reinterpret_cast<char*>(cut.Take<float>(3));
  cut.Take<double>(0);
  char* const second = reinterpret_cast<char*>(cut.Take<double>(9));
  EXPECT_EQ(first, memory.span().data());
  EXPECT_EQ(second - first, 64);
  EXPECT_EQ(cut.used_bytes(), measure.used_bytes());
}

TEST(WorkspaceCutterDeathTest, NeverCutsBeyondTheEnd) {
  testing::TestWorkspace memory(64);
  WorkspaceCutter cut(memory.span());
  EXPECT_DEATH(cut.Take<float>(17), "Check failed");
}

}  // namespace
}  // namespace densenet
