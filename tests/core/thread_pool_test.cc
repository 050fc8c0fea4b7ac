#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <vector>

namespace densenet {
namespace {

TEST(ThreadPoolTest, EveryItemRunsOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int64_t items : {0, 1, 2, 3, 100, 1000}) {
      std::vector<int> calls(items, 0);
      pool.ParallelFor(items, [&](int64_t item, int thread) {
        ASSERT_LT(thread, threads);
        ++calls[item];
      });
      for (int c : calls) EXPECT_EQ(c, 1);
    }
  }
}

TEST(ThreadPoolTest, ManyShortLoops) {
  ThreadPool pool(3);
  int64_t total = 0;
  std::vector<int64_t> parts(7);
  for (int loop = 0; loop < 20000; ++loop) {
    pool.ParallelFor(7, [&](int64_t item, int) { parts[item] = item + loop; });
    for (int64_t p : parts) total += p;
  }
  EXPECT_EQ(total, 7LL * 20000 * 19999 / 2 + 21LL * 20000);
}

}  // namespace
}  // namespace densenet
