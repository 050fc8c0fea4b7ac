// core/cpu/chunks.h
//
// Splits a loop into contiguous chunks whose number and bounds depend on the
// problem alone, never on the number of threads. A reduction that gives every
// chunk its own partial result and combines them in chunk order is bitwise
// independent of the thread count.

#ifndef DENSENET_CORE_CPU_CHUNKS_H_
#define DENSENET_CORE_CPU_CHUNKS_H_

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "core/thread_pool.h"

namespace densenet {

struct Chunk {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

// Items [0, items) in count() chunks of at least `min_items` each (but the
// only one, when there are fewer), at most `max_chunks` of them. Sizes differ
// by at most one, the larger chunks first.
class FixedChunks {
 public:
  FixedChunks(int64_t items, int64_t min_items, int64_t max_chunks)
      : items_(items) {
    CHECK_GE(items, 0);
    CHECK_GE(min_items, 1);
    CHECK_GE(max_chunks, 1);
    count_ = std::min(max_chunks, items / min_items);
    if (count_ == 0 && items > 0) count_ = 1;
  }
  // Exactly `count` chunks of at least one item each. Consecutive chunks of a
  // larger loop are the chunks of their items: FixedChunks::Of(34, 5) has the
  // sizes of any 5 neighbours with 34 items in all.
  static FixedChunks Of(int64_t items, int64_t count) {
    CHECK_LE(count, items);
    return FixedChunks(items, 1, count == 0 ? 1 : count);
  }

  int64_t items() const { return items_; }
  int64_t count() const { return count_; }
  Chunk chunk(int64_t i) const {
    DCHECK(i >= 0 && i < count_);
    const int64_t size = items_ / count_;
    const int64_t larger = items_ % count_;
    const int64_t begin = i * size + std::min(i, larger);
    return {begin, begin + size + (i < larger ? 1 : 0)};
  }
  // The size of the first chunk, the largest; 0 without items.
  int64_t max_size() const { return count_ == 0 ? 0 : chunk(0).size(); }

 private:
  int64_t items_;
  int64_t count_;
};

// Calls fn(chunk, index of the chunk, thread) for every chunk.
inline void ParallelForChunks(
    ThreadPool& threads, const FixedChunks& chunks,
    absl::FunctionRef<void(const Chunk& chunk, int64_t index, int thread)> fn) {
  threads.ParallelFor(chunks.count(), [&](int64_t index, int thread) {
    fn(chunks.chunk(index), index, thread);
  });
}

}  // namespace densenet

#endif  // DENSENET_CORE_CPU_CHUNKS_H_
