#include "core/counted_memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

// A system of `room` bytes whose blocks are only numbers.
class FakeMemory final : public CountedMemory {
 public:
  explicit FakeMemory(int64_t room, int64_t limit_bytes = 0)
      : CountedMemory("fake", Device::Cuda(3), limit_bytes), room_(room) {}

  bool broken = false;

 private:
  StatusOr<void*> SystemAllocate(int64_t bytes) override {
    if (broken) return Unavailable("no such card");
    if (room_.fetch_sub(bytes) < bytes) {
      room_ += bytes;
      return nullptr;
    }
    return reinterpret_cast<void*>(uintptr_t{64});
  }
  void SystemDeallocate(void*, int64_t bytes) override { room_ += bytes; }
  std::string SystemRoom() const override { return "; it has little left"; }

  std::atomic<int64_t> room_;
};

TEST(CountedMemoryTest, CountsWhatIsHandedOut) {
  FakeMemory memory(1000);
  EXPECT_EQ(memory.device(), Device::Cuda(3));
  const StatusOr<void*> a = memory.Allocate(300);
  const StatusOr<void*> b = memory.Allocate(500);
  ASSERT_OK(a);
  ASSERT_OK(b);
  memory.Deallocate(*a, 300);
  MemoryStats stats = memory.stats();
  EXPECT_EQ(stats.active_bytes, 500);
  EXPECT_EQ(stats.reserved_bytes, 500);
  EXPECT_EQ(stats.peak_bytes, 800);
  EXPECT_EQ(stats.allocations, 2);
  memory.ResetPeak();
  EXPECT_EQ(memory.stats().peak_bytes, 500);
  memory.Deallocate(*b, 500);
  EXPECT_EQ(memory.stats().active_bytes, 0);
}

TEST(CountedMemoryTest, AFailureLeavesTheNumbersAlone) {
  FakeMemory memory(1000, 900);
  EXPECT_THAT(memory.Allocate(901),
              Fails(StatusCode::kResourceExhausted,
                    {"fake: out of memory", "requested 901", "limit 900"}));
  EXPECT_THAT(memory.Allocate(-1),
              Fails(StatusCode::kInvalidArgument, {"fake", "-1"}));
  memory.broken = true;
  EXPECT_THAT(memory.Allocate(1),
              Fails(StatusCode::kUnavailable, {"fake: no such card"}));
  const MemoryStats stats = memory.stats();
  EXPECT_EQ(stats.active_bytes, 0);
  EXPECT_EQ(stats.peak_bytes, 0);
  EXPECT_EQ(stats.allocations, 0);
}

TEST(CountedMemoryTest, ASystemWithoutRoomSaysWhatItHas) {
  FakeMemory memory(100);
  EXPECT_THAT(memory.Allocate(101),
              Fails(StatusCode::kResourceExhausted,
                    {"requested 101", "limit none", "it has little left"}));
  EXPECT_EQ(memory.stats().active_bytes, 0);
}

TEST(CountedMemoryTest, ThreadsNeverPassTheLimitTogether) {
  FakeMemory memory(int64_t{1} << 40, 10);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory] {
      for (int i = 0; i < 2000; ++i) {
        const StatusOr<void*> block = memory.Allocate(4);
        if (block.ok()) memory.Deallocate(*block, 4);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MemoryStats stats = memory.stats();
  EXPECT_EQ(stats.active_bytes, 0);
  EXPECT_LE(stats.peak_bytes, 8);
  EXPECT_GE(stats.allocations, 1);
}

TEST(CountedMemoryDeathTest, OutlivingBlocksAreOurBug) {
  EXPECT_DEATH(
      {
        FakeMemory memory(100);
        static_cast<void>(memory.Allocate(1));
      },
      "fake outlived by its blocks");
}

TEST(OutOfMemoryTest, NamesEveryNumber) {
  const MemoryStats stats{.active_bytes = 1,
                          .reserved_bytes = 2,
                          .peak_bytes = 3,
                          .limit_bytes = 4,
                          .allocations = 5};
  EXPECT_THAT(OutOfMemory("arena", 6, stats),
              Fails(StatusCode::kResourceExhausted,
                    {"arena", "requested 6", "active 1", "reserved 2", "peak 3",
                     "limit 4"}));
}

}  // namespace
}  // namespace densenet
