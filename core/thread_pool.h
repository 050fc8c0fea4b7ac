// core/thread_pool.h
//
// A fixed team of threads for loops over independent items. The caller is one
// of the team, so a pool of one thread starts none. Items are handed out in
// increasing order to whoever is free: code that needs results independent of
// the number of threads gives every item its own output and combines them in
// item order afterwards.

#ifndef DENSENET_CORE_THREAD_POOL_H_
#define DENSENET_CORE_THREAD_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace densenet {

class ThreadPool {
 public:
  // CHECKs threads >= 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(item, thread) for every item in [0, items), thread in
  // [0, threads()); returns when all calls have. Scratch of a thread may be
  // indexed by `thread`. Calls from two threads at once are served one after
  // the other; a call from inside fn is our bug (CHECK).
  void ParallelFor(int64_t items,
                   absl::FunctionRef<void(int64_t item, int thread)> fn);

 private:
  using Fn = absl::FunctionRef<void(int64_t, int)>;

  void WorkerLoop(int thread);
  void RunItems(int thread);

  std::vector<std::thread> workers_;
  std::mutex call_mutex_;  // one ParallelFor at a time
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  // The current loop: set under mutex_ before `generation_` moves on.
  const Fn* fn_ = nullptr;
  int64_t items_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<int> running_{0};
  std::atomic<uint64_t> generation_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace densenet

#endif  // DENSENET_CORE_THREAD_POOL_H_
