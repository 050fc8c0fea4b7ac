#include "memory/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/memory_resource.h"
#include "core/random.h"

namespace densenet {
namespace {

constexpr BufferKind kAllKinds[] = {BufferKind::kFeatures, BufferKind::kStored,
                                    BufferKind::kGradients,
                                    BufferKind::kScratch};

PlannedBuffer Buffer(int64_t bytes, int64_t first, int64_t last,
                     BufferKind kind = BufferKind::kScratch) {
  PlannedBuffer buffer;
  buffer.name = "buffer";
  buffer.kind = kind;
  buffer.bytes = bytes;
  buffer.first_use = first;
  buffer.last_use = last;
  return buffer;
}

int64_t AlignUp(int64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

// `count` buffers over `tasks` tasks; few distinct sizes, so that ties occur.
std::vector<PlannedBuffer> RandomBuffers(int64_t count, uint32_t tasks,
                                         uint64_t seed) {
  const RandomKey key{seed, 0, 0};
  std::vector<PlannedBuffer> buffers;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = UniformInt(RandomBits(key, 4 * i), tasks);
    const int64_t length = UniformInt(RandomBits(key, 4 * i + 1), 7);
    const int64_t bytes = 40 * UniformInt(RandomBits(key, 4 * i + 2), 30);
    const uint32_t kind = UniformInt(RandomBits(key, 4 * i + 3), 4);
    buffers.push_back(Buffer(bytes, first,
                             std::min<int64_t>(first + length, tasks - 1),
                             kAllKinds[kind]));
  }
  return buffers;
}

// The largest sum of live bytes, task by task.
int64_t Floor(const std::vector<PlannedBuffer>& buffers, int64_t tasks) {
  int64_t floor = 0;
  for (int64_t task = 0; task < tasks; ++task) {
    int64_t live = 0;
    for (const PlannedBuffer& b : buffers) {
      if (b.first_use <= task && task <= b.last_use) live += b.bytes;
    }
    floor = std::max(floor, live);
  }
  return floor;
}

class RandomPlanTest : public ::testing::TestWithParam<int> {
 protected:
  static constexpr uint32_t kTasks = 25;
  const std::vector<PlannedBuffer> buffers_ =
      RandomBuffers(5 + 7 * GetParam(), kTasks, GetParam());
  const MemoryPlan plan_ = MemoryPlan::Place(buffers_);
};

TEST_P(RandomPlanTest, BuffersAliveTogetherDoNotOverlap) {
  for (size_t i = 0; i < plan_.buffers().size(); ++i) {
    const PlannedBuffer& a = plan_.buffers()[i];
    EXPECT_GE(a.offset_bytes, 0);
    EXPECT_EQ(a.offset_bytes % kAlignmentBytes, 0);
    EXPECT_LE(a.offset_bytes + a.bytes, plan_.arena_bytes());
    for (size_t j = 0; j < i; ++j) {
      const PlannedBuffer& b = plan_.buffers()[j];
      const bool in_time =
          a.first_use <= b.last_use && b.first_use <= a.last_use;
      const bool in_space = a.offset_bytes < b.offset_bytes + b.bytes &&
                            b.offset_bytes < a.offset_bytes + a.bytes;
      EXPECT_FALSE(in_time && in_space && a.bytes > 0 && b.bytes > 0)
          << "buffers " << i << " and " << j;
    }
  }
}

TEST_P(RandomPlanTest, ArenaLiesBetweenTheFloorAndTheSum) {
  int64_t sum = 0;
  for (const PlannedBuffer& b : buffers_) sum += AlignUp(b.bytes);
  EXPECT_EQ(plan_.floor_bytes(), Floor(buffers_, kTasks));
  EXPECT_GE(plan_.arena_bytes(), plan_.floor_bytes());
  EXPECT_LE(plan_.arena_bytes(), sum);
}

TEST_P(RandomPlanTest, OnlyOffsetsAreAdded) {
  ASSERT_EQ(plan_.buffers().size(), buffers_.size());
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const PlannedBuffer& planned = plan_.buffers()[i];
    EXPECT_EQ(planned.bytes, buffers_[i].bytes);
    EXPECT_EQ(planned.kind, buffers_[i].kind);
    EXPECT_EQ(planned.first_use, buffers_[i].first_use);
    EXPECT_EQ(planned.last_use, buffers_[i].last_use);
  }
}

TEST_P(RandomPlanTest, KindsAddUpToThePeak) {
  int64_t sum = 0;
  for (BufferKind kind : kAllKinds) sum += plan_.bytes_at_peak(kind);
  EXPECT_EQ(sum, plan_.floor_bytes());
}

TEST_P(RandomPlanTest, IsReproducible) {
  const MemoryPlan again = MemoryPlan::Place(buffers_);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    EXPECT_EQ(again.buffers()[i].offset_bytes, plan_.buffers()[i].offset_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlanTest, ::testing::Values(0, 1, 5, 11));

TEST(PlanTest, NothingNeedsNothing) {
  const MemoryPlan plan = MemoryPlan::Place({});
  EXPECT_EQ(plan.arena_bytes(), 0);
  EXPECT_EQ(plan.floor_bytes(), 0);
  EXPECT_EQ(plan.bytes_at_peak(BufferKind::kScratch), 0);
}

TEST(PlanTest, AliveTogetherTakesTheSum) {
  const MemoryPlan plan = MemoryPlan::Place(
      {Buffer(64, 0, 3), Buffer(128, 1, 2), Buffer(192, 2, 2)});
  EXPECT_EQ(plan.floor_bytes(), 384);
  EXPECT_EQ(plan.arena_bytes(), 384);
}

TEST(PlanTest, OneAfterTheOtherTakesTheLargest) {
  const MemoryPlan plan = MemoryPlan::Place(
      {Buffer(64, 0, 0), Buffer(640, 1, 1), Buffer(128, 2, 5)});
  EXPECT_EQ(plan.floor_bytes(), 640);
  EXPECT_EQ(plan.arena_bytes(), 640);
  for (const PlannedBuffer& b : plan.buffers()) EXPECT_EQ(b.offset_bytes, 0);
}

// The last task of one and the first task of the next are the same: both live.
TEST(PlanTest, UsesAreInclusive) {
  const MemoryPlan plan =
      MemoryPlan::Place({Buffer(64, 0, 1), Buffer(64, 1, 2)});
  EXPECT_EQ(plan.floor_bytes(), 128);
  EXPECT_EQ(plan.arena_bytes(), 128);
}

TEST(PlanTest, AHoleIsFilled) {
  // 256 lies at 0 in tasks 0..1, 128 behind it all along; 192 fits below 128
  // once 256 is dead.
  const MemoryPlan plan = MemoryPlan::Place(
      {Buffer(256, 0, 1), Buffer(128, 0, 3), Buffer(192, 2, 3)});
  EXPECT_EQ(plan.buffers()[1].offset_bytes, 256);
  EXPECT_EQ(plan.buffers()[2].offset_bytes, 0);
  EXPECT_EQ(plan.arena_bytes(), 384);
}

TEST(PlanTest, PeakIsTakenWhereLiveBytesAreLargest) {
  const MemoryPlan plan =
      MemoryPlan::Place({Buffer(512, 0, 1, BufferKind::kFeatures),
                         Buffer(256, 1, 2, BufferKind::kStored),
                         Buffer(640, 3, 3, BufferKind::kGradients)});
  EXPECT_EQ(plan.floor_bytes(), 768);
  EXPECT_EQ(plan.bytes_at_peak(BufferKind::kFeatures), 512);
  EXPECT_EQ(plan.bytes_at_peak(BufferKind::kStored), 256);
  EXPECT_EQ(plan.bytes_at_peak(BufferKind::kGradients), 0);
}

TEST(PlanTest, KindsHaveDistinctNames) {
  std::vector<std::string> names;
  for (BufferKind kind : kAllKinds) names.emplace_back(Name(kind));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(Name(BufferKind::kFeatures), "features");
}

}  // namespace
}  // namespace densenet
