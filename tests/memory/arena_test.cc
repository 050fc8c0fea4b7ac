#include "memory/arena.h"

#include <gtest/gtest.h>

#include <cstring>

#include "memory/host_memory.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

TEST(ArenaTest, TakesWhatItIsAskedForAndReturnsIt) {
  HostMemory memory;
  {
    StatusOr<Arena> arena = Arena::Create(memory, 1001);
    ASSERT_OK(arena);
    EXPECT_EQ(arena->bytes(), 1001);
    EXPECT_EQ(memory.stats().active_bytes, 1001);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->base()) % kAlignmentBytes, 0u);
    std::memset(arena->base(), 1, arena->bytes());
    const char* base = arena->base();
    Arena moved = std::move(*arena);
    EXPECT_EQ(moved.base(), base);
    EXPECT_EQ(memory.stats().active_bytes, 1001);
  }
  EXPECT_EQ(memory.stats().active_bytes, 0);
  EXPECT_EQ(memory.stats().peak_bytes, 1001);
}

TEST(ArenaTest, NoRoomIsAnErrorWithNumbers) {
  HostMemory memory(/*limit_bytes=*/512);
  EXPECT_THAT(Arena::Create(memory, 513),
              testing::Fails(StatusCode::kResourceExhausted, {"513", "512"}));
  EXPECT_OK(Arena::Create(memory, 512));
}

}  // namespace
}  // namespace densenet
