// The sums of one output, or of up to kBlock outputs that lie side by side in
// x, are taken over at most kMaxChunks chunks of the reduced elements. The
// chunks' sums are added in order, whoever computed them.

#include "core/ops/reduce_cpu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/cpu/chunks.h"

namespace densenet {
namespace {

constexpr int64_t kMaxChunks = 64;
constexpr int64_t kBlock = 64;
constexpr int64_t kLanes = 8;
// Elements of x that are worth handing to a thread.
constexpr int64_t kChunkElems = 16384;

using Partial = std::array<double, kBlock>;

// A list of axes as one, walked in row-major order.
struct Axes {
  int rank = 0;
  std::array<int64_t, kMaxRank> dims{};
  std::array<int64_t, kMaxRank> strides{};

  void Append(int64_t dim, int64_t stride) {
    if (dim == 1) return;
    if (rank > 0 && strides[rank - 1] == stride * dim) {
      dims[rank - 1] *= dim;
      strides[rank - 1] = stride;
      return;
    }
    dims[rank] = dim;
    strides[rank++] = stride;
  }
  int64_t elems() const {
    int64_t product = 1;
    for (int a = 0; a < rank; ++a) product *= dims[a];
    return product;
  }
  int64_t Offset(int64_t index) const {
    int64_t offset = 0;
    for (int a = rank - 1; a >= 0; --a) {
      offset += index % dims[a] * strides[a];
      index /= dims[a];
    }
    return offset;
  }
  int64_t inner_dim() const { return rank == 0 ? 1 : dims[rank - 1]; }
  int64_t inner_stride() const { return rank == 0 ? 1 : strides[rank - 1]; }
};

struct Identity {
  static double Of(double v) { return v; }
};
struct Square {
  static double Of(double v) { return v * v; }
};

// The sum of `count` elements, in kLanes interleaved sums.
template <typename Map>
double SumRun(const float* x, int64_t count, int64_t stride) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      lanes[k] += Map::Of(x[(i + k) * stride]);
    }
  }
  for (int64_t k = 0; i < count; ++i, ++k) lanes[k] += Map::Of(x[i * stride]);
  double sum = 0;
  for (double lane : lanes) sum += lane;
  return sum;
}

// The reduced elements `chunk` of `width` neighbouring outputs.
template <typename Map>
Partial SumChunk(const float* x, const Axes& reduced, const Chunk& chunk,
                 int64_t width) {
  Partial sums{};
  int64_t begin = chunk.begin;
  while (begin < chunk.end) {
    const int64_t run = std::min(
        chunk.end - begin, reduced.inner_dim() - begin % reduced.inner_dim());
    const float* from = x + reduced.Offset(begin);
    const int64_t stride = reduced.inner_stride();
    if (width == 1) {
      sums[0] += SumRun<Map>(from, run, stride);
    } else {
      for (int64_t i = 0; i < run; ++i) {
        const float* row = from + i * stride;
        for (int64_t c = 0; c < width; ++c) sums[c] += Map::Of(row[c]);
      }
    }
    begin += run;
  }
  return sums;
}

// Outputs [at, at + width) from their partial sums.
void Finish(ReduceOp op, absl::Span<const Partial> partials, int64_t terms,
            int64_t width, float* y) {
  for (int64_t c = 0; c < width; ++c) {
    double sum = 0;
    for (const Partial& partial : partials) sum += partial[c];
    if (op == ReduceOp::kMean) sum /= static_cast<double>(terms);
    if (op == ReduceOp::kNorm) sum = std::sqrt(sum);
    y[c] = static_cast<float>(sum);
  }
}

template <typename Map>
void Reduce(const Context& ctx, ReduceOp op, const float* x, const Axes& kept,
            const Axes& reduced, float* y) {
  const int64_t terms = reduced.elems();
  const bool columns = kept.rank > 0 && kept.inner_stride() == 1;
  const int64_t inner = columns ? kept.inner_dim() : 1;
  const int64_t block = columns ? kBlock : 1;
  const int64_t blocks = (inner + block - 1) / block;
  const int64_t tasks = inner == 0 ? 0 : kept.elems() / inner * blocks;
  const FixedChunks chunks(terms, kChunkElems / block, kMaxChunks);
  // Parallel over outputs where there are many, else over their chunks; the
  // arithmetic is the same.
  const bool over_outputs = tasks >= kMaxChunks || chunks.count() <= 1;
  auto run_task = [&](int64_t task) {
    const int64_t begin = task % blocks * block;
    const int64_t width = std::min(block, inner - begin);
    const int64_t first = task / blocks * inner + begin;
    const float* from = x + kept.Offset(first);
    std::array<Partial, kMaxChunks> partials;
    auto run_chunk = [&](int64_t chunk, int) {
      partials[chunk] =
          SumChunk<Map>(from, reduced, chunks.chunk(chunk), width);
    };
    if (over_outputs) {
      for (int64_t chunk = 0; chunk < chunks.count(); ++chunk)
        run_chunk(chunk, 0);
    } else {
      ctx.threads().ParallelFor(chunks.count(), run_chunk);
    }
    Finish(op, absl::MakeConstSpan(partials.data(), chunks.count()), terms,
           width, y + first);
  };
  if (over_outputs) {
    const int64_t tasks_per_item =
        std::max<int64_t>(1, kChunkElems / std::max<int64_t>(1, terms * block));
    const FixedChunks items(tasks, tasks_per_item,
                            std::numeric_limits<int64_t>::max());
    ParallelForChunks(ctx.threads(), items,
                      [&](const Chunk& item, int64_t, int) {
                        for (int64_t t = item.begin; t < item.end; ++t) {
                          run_task(t);
                        }
                      });
  } else {
    for (int64_t task = 0; task < tasks; ++task) run_task(task);
  }
}

}  // namespace

void ReduceCpu(const Context& ctx, ReduceOp op, ConstTensorView x,
               absl::Span<const bool> reduced, float* y) {
  Axes kept_axes, reduced_axes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    Axes& axes = reduced[axis] ? reduced_axes : kept_axes;
    axes.Append(x.dim(axis), x.stride(axis));
  }
  const float* px = x.data<float>();
  if (op == ReduceOp::kNorm) {
    Reduce<Square>(ctx, op, px, kept_axes, reduced_axes, y);
  } else {
    Reduce<Identity>(ctx, op, px, kept_axes, reduced_axes, y);
  }
}

}  // namespace densenet
