// core/cpu/rows.h
//
// Runs element-wise loops over row-strided views in parallel: packed operands
// as one long row cut anywhere, others row by row. Element-wise results do not
// depend on the cut.

#ifndef DENSENET_CORE_CPU_ROWS_H_
#define DENSENET_CORE_CPU_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "core/cpu/chunks.h"
#include "core/tensor.h"
#include "core/thread_pool.h"

namespace densenet {

// Elements that make a task worth handing to a thread, and tasks at most.
inline constexpr int64_t kElementsPerTask = 16384;
inline constexpr int64_t kMaxTasks = 256;

// Rows per task for rows of `width` elements.
inline int64_t RowsPerTask(int64_t width) {
  return std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, width));
}

// Calls fn(row, first column, columns) so that every element of a
// (rows x width) matrix is visited once. `packed`: every operand is packed, so
// row 0 may be taken to hold all elements.
template <typename Fn>
void ForEachRow(ThreadPool& threads, bool packed, int64_t rows, int64_t width,
                const Fn& fn) {
  if (packed) {
    const FixedChunks chunks(rows * width, kElementsPerTask, kMaxTasks);
    ParallelForChunks(threads, chunks, [&](const Chunk& chunk, int64_t, int) {
      fn(int64_t{0}, chunk.begin, chunk.size());
    });
    return;
  }
  const FixedChunks chunks(rows, RowsPerTask(width), kMaxTasks);
  ParallelForChunks(threads, chunks, [&](const Chunk& chunk, int64_t, int) {
    for (int64_t row = chunk.begin; row < chunk.end; ++row) {
      fn(row, int64_t{0}, width);
    }
  });
}

}  // namespace densenet

#endif  // DENSENET_CORE_CPU_ROWS_H_
