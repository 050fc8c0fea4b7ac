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

// It would wait for itself.
TEST(ThreadPoolDeathTest, ALoopInsideALoopIsOurBug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int threads : {1, 2}) {
    EXPECT_DEATH(
        {
          ThreadPool pool(threads);
          pool.ParallelFor(2, [&](int64_t, int) {
            pool.ParallelFor(2, [](int64_t, int) {});
          });
        },
        "ParallelFor inside ParallelFor");
  }
  EXPECT_DEATH(
      {
        ThreadPool outer(2);
        ThreadPool inner(2);
        outer.ParallelFor(2, [&](int64_t, int) {
          inner.ParallelFor(1, [&](int64_t, int) {
            outer.ParallelFor(2, [](int64_t, int) {});
          });
        });
      },
      "ParallelFor inside ParallelFor");
  ThreadPool outer(2);
  ThreadPool inner(2);
  std::vector<int64_t> sums(2, 0);
  outer.ParallelFor(2, [&](int64_t item, int) {
    if (item != 0) return;
    inner.ParallelFor(2, [&](int64_t part, int) { sums[part] = part + 1; });
  });
  EXPECT_EQ(sums[0] + sums[1], 3);
}

}  // namespace
}  // namespace densenet
