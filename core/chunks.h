// core/chunks.h
//
// Splits element-wise loops into chunks whose bounds follow from the problem
// size alone, so that partial sums per chunk, combined in chunk order, do not
// depend on the number of threads.

#ifndef DENSENET_CORE_CHUNKS_H_
#define DENSENET_CORE_CHUNKS_H_

#include <algorithm>
#include <cstdint>

#include "core/thread_pool.h"

namespace densenet {

// Elements of one chunk: 64 KiB of float32, far above the cost of handing the
// chunk to a thread and small enough for the L2 cache.
inline constexpr int64_t kChunkElems = 16384;

constexpr int64_t ChunkCount(int64_t items, int64_t items_per_chunk) {
  return (items + items_per_chunk - 1) / items_per_chunk;
}

// Calls fn(begin, end, chunk) for every chunk of [0, items).
template <typename Fn>
void ForEachChunk(ThreadPool& threads, int64_t items, int64_t items_per_chunk,
                  Fn fn) {
  threads.ParallelFor(
      ChunkCount(items, items_per_chunk), [&](int64_t chunk, int) {
        const int64_t begin = chunk * items_per_chunk;
        fn(begin, std::min(items, begin + items_per_chunk), chunk);
      });
}

}  // namespace densenet

#endif  // DENSENET_CORE_CHUNKS_H_
