#include "memory/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace densenet {
namespace {

TEST(HostMemoryTest, CountsActiveAndPeak) {
  HostMemory memory;
  StatusOr<void*> a = memory.Allocate(100);
  StatusOr<void*> b = memory.Allocate(int64_t{3} << 20);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(memory.stats().active_bytes, 100 + (int64_t{3} << 20));
  memory.Deallocate(*b, int64_t{3} << 20);
  EXPECT_EQ(memory.stats().active_bytes, 100);
  EXPECT_EQ(memory.stats().peak_bytes, 100 + (int64_t{3} << 20));
  memory.ResetPeak();
  EXPECT_EQ(memory.stats().peak_bytes, 100);
  memory.Deallocate(*a, 100);
  EXPECT_EQ(memory.stats().reserved_bytes, 0);
}

TEST(HostMemoryTest, LimitIsAnErrorThatNamesTheNumbers) {
  HostMemory memory(1000);
  StatusOr<void*> a = memory.Allocate(600);
  ASSERT_TRUE(a.ok());
  StatusOr<void*> b = memory.Allocate(500);
  EXPECT_EQ(b.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(b.status().message()),
              ::testing::AllOf(::testing::HasSubstr("requested 500"),
                               ::testing::HasSubstr("active 600"),
                               ::testing::HasSubstr("limit 1000")));
  memory.Deallocate(*a, 600);
}

TEST(HostMemoryTest, ZeroBytesIsNoBlock) {
  HostMemory memory;
  StatusOr<void*> a = memory.Allocate(0);
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(*a, nullptr);
  memory.Deallocate(*a, 0);
  EXPECT_EQ(memory.Allocate(-1).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace densenet
