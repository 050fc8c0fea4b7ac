#include "core/thread_pool.h"

#include <glog/logging.h>

#include <utility>

namespace densenet {
namespace {

// A step is hundreds of short loops: a worker looks for the next one for a
// few microseconds before it sleeps.
constexpr int kSpins = 2000;

inline void Pause() { __builtin_ia32_pause(); }

// The pools whose items this thread is working on, innermost first. Of a
// thread, since only it knows that it is inside a loop; state of the call
// stack, which no result depends on.
class WorkingFor;
thread_local const WorkingFor* innermost = nullptr;

class WorkingFor {
 public:
  explicit WorkingFor(const ThreadPool* pool)
      : pool_(pool), outer_(std::exchange(innermost, this)) {}
  ~WorkingFor() { innermost = outer_; }
  WorkingFor(const WorkingFor&) = delete;
  WorkingFor& operator=(const WorkingFor&) = delete;

  static bool Any(const ThreadPool* pool) {
    const WorkingFor* at = innermost;
    while (at != nullptr && at->pool_ != pool) at = at->outer_;
    return at != nullptr;
  }

 private:
  const ThreadPool* pool_;
  const WorkingFor* outer_;
};

}  // namespace

ThreadPool::ThreadPool(int threads) {
  CHECK_GE(threads, 1);
  for (int t = 1; t < threads; ++t) {
    workers_.emplace_back([this, t] { WorkerLoop(t); });
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    generation_.fetch_add(1);
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunItems(int thread) {
  const Fn& fn = *fn_;
  const int64_t items = items_;
  for (;;) {
    const int64_t item = next_.fetch_add(1, std::memory_order_relaxed);
    if (item >= items) return;
    fn(item, thread);
  }
}

void ThreadPool::ParallelFor(int64_t items, Fn fn) {
  if (items <= 0) return;
  CHECK(!WorkingFor::Any(this)) << "ParallelFor inside ParallelFor of one pool";
  const WorkingFor working(this);
  std::lock_guard<std::mutex> call(call_mutex_);
  if (workers_.empty() || items == 1) {
    for (int64_t item = 0; item < items; ++item) fn(item, 0);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    fn_ = &fn;
    items_ = items;
    next_.store(0, std::memory_order_relaxed);
    running_.store(static_cast<int>(workers_.size()));
    generation_.fetch_add(1);
  }
  start_.notify_all();
  RunItems(0);
  for (int spin = 0; spin < kSpins; ++spin) {
    if (running_.load() == 0) return;
    Pause();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [this] { return running_.load() == 0; });
}

void ThreadPool::WorkerLoop(int thread) {
  const WorkingFor working(this);
  uint64_t seen = 0;
  for (;;) {
    for (int spin = 0; spin < kSpins && generation_.load() == seen; ++spin) {
      Pause();
    }
    if (generation_.load() == seen) {
      std::unique_lock<std::mutex> lock(mutex_);
      start_.wait(lock, [this, seen] { return generation_.load() != seen; });
    }
    seen = generation_.load();
    if (stop_) return;
    RunItems(thread);
    if (running_.fetch_sub(1) == 1) {
      std::lock_guard<std::mutex> lock(mutex_);
      done_.notify_one();
    }
  }
}

}  // namespace densenet
