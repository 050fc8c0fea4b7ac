// core/ops/row_loop.h
//
// Runs a function on every row of a row-strided tensor (..., C), spread over
// the threads. For the CPU code of operations along the innermost axis.

#ifndef DENSENET_CORE_OPS_ROW_LOOP_H_
#define DENSENET_CORE_OPS_ROW_LOOP_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/cpu/chunks.h"
#include "core/shape.h"
#include "core/thread_pool.h"

namespace densenet {

// Calls fn(row, C) for every row; nothing when there are no elements.
template <typename Fn>
void ForEachRow(ThreadPool& threads, const Shape& shape, Fn fn) {
  // Rows take an exp or a log per element: fewer elements than an element-wise
  // loop are worth handing to a thread.
  constexpr int64_t kElems = 1024;
  if (shape.elems() == 0) return;
  const int64_t width = shape.dim(-1);
  const FixedChunks chunks(shape.elems() / width,
                           std::max<int64_t>(1, kElems / width),
                           std::numeric_limits<int64_t>::max());
  ParallelForChunks(threads, chunks, [&](const Chunk& rows, int64_t, int) {
    for (int64_t row = rows.begin; row < rows.end; ++row) fn(row, width);
  });
}

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_ROW_LOOP_H_
