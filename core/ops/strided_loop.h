// core/ops/strided_loop.h
//
// Walks the elements that several strided operands of one shape share, as runs
// along one inner axis: axes that are adjacent in all operands are merged, so
// that packed operands are one run and channel prefixes are one run a pixel.
// For the CPU code of element-wise operations.

#ifndef DENSENET_CORE_OPS_STRIDED_LOOP_H_
#define DENSENET_CORE_OPS_STRIDED_LOOP_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "core/cpu/chunks.h"
#include "core/shape.h"
#include "core/thread_pool.h"

namespace densenet {

// Elements that are worth handing to a thread: 64 KiB of float32.
inline constexpr int64_t kRunElems = 16384;

template <int N>
class StridedLoop {
 public:
  using Offsets = std::array<int64_t, N>;

  // strides[n] has the rank of `shape`; a stride of 0 repeats an element.
  StridedLoop(const Shape& shape, const std::array<Shape, N>& strides) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape.dim(axis) == 1) continue;
      Offsets step;
      for (int n = 0; n < N; ++n) step[n] = strides[n].dim(axis);
      if (rank_ > 0 && Mergeable(step, shape.dim(axis))) {
        dims_[rank_ - 1] *= shape.dim(axis);
      } else {
        dims_[rank_++] = shape.dim(axis);
      }
      steps_[rank_ - 1] = step;
    }
    if (rank_ == 0) {
      rank_ = 1;
      dims_[0] = 1;
      steps_[0].fill(1);
    }
  }

  // The distance of two neighbours of a run in operand n.
  int64_t inner_stride(int n) const { return steps_[rank_ - 1][n]; }

  // Calls fn(offsets, count, index) for runs of `count` elements, the first of
  // which stands at offsets[n] in operand n and is number `index` in row-major
  // order. Runs are cut by the shape alone, and spread over the threads.
  template <typename Fn>
  void ForEachRun(ThreadPool& threads, Fn fn) const {
    const int64_t inner = dims_[rank_ - 1];
    int64_t outer = 1;
    for (int axis = 0; axis + 1 < rank_; ++axis) outer *= dims_[axis];
    if (inner == 0 || outer == 0) return;
    constexpr int64_t kNoMaximum = std::numeric_limits<int64_t>::max();
    if (inner >= kRunElems) {
      const FixedChunks pieces(inner, kRunElems, kNoMaximum);
      threads.ParallelFor(outer * pieces.count(), [&](int64_t item, int) {
        const int64_t row = item / pieces.count();
        const Chunk piece = pieces.chunk(item % pieces.count());
        Offsets offsets = RowOffsets(row);
        for (int n = 0; n < N; ++n) offsets[n] += piece.begin * inner_stride(n);
        fn(offsets, piece.size(), row * inner + piece.begin);
      });
      return;
    }
    ParallelForChunks(threads,
                      FixedChunks(outer, kRunElems / inner, kNoMaximum),
                      [&](const Chunk& rows, int64_t, int) {
                        for (int64_t row = rows.begin; row < rows.end; ++row) {
                          fn(RowOffsets(row), inner, row * inner);
                        }
                      });
  }

 private:
  // Whether the innermost axis so far continues through one of extent `dim`.
  bool Mergeable(const Offsets& step, int64_t dim) const {
    for (int n = 0; n < N; ++n) {
      if (steps_[rank_ - 1][n] != step[n] * dim) return false;
    }
    return true;
  }

  Offsets RowOffsets(int64_t row) const {
    Offsets offsets{};
    for (int axis = rank_ - 2; axis >= 0; --axis) {
      const int64_t at = row % dims_[axis];
      row /= dims_[axis];
      for (int n = 0; n < N; ++n) offsets[n] += at * steps_[axis][n];
    }
    return offsets;
  }

  int rank_ = 0;
  std::array<int64_t, kMaxRank> dims_{};
  std::array<Offsets, kMaxRank> steps_{};
};

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_STRIDED_LOOP_H_
