#include "densenet/kernels/conv1x1.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/cpu/gemm.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/scratch.h"
#include "densenet/kernels/weight_gradient.h"

namespace densenet {
namespace {

int64_t ForwardThreadFloats(int64_t k) {
  return AlignedFloats(kTileRows * kPointwiseBlock) + MomentsScratchFloats(k);
}

// Packed z, dz, the finished gradient of the output, sums of the sink.
int64_t BackwardThreadFloats(int64_t k) {
  return 2 * AlignedFloats(kTileRows * kPointwiseBlock) +
         AlignedFloats(kTileRows * k) + AlignedFloats(2 * kPointwiseBlock);
}

// The matrix products of a kernel's tiles. A kernel has few shapes, full tiles
// and the last ones; each is looked up once, not for every tile.
class TileGemms {
 public:
  // `shape_of(rows, width, accumulate)`
  template <typename ShapeOf>
  const Gemm& Get(int64_t rows, int64_t width, bool accumulate,
                  ShapeOf shape_of) {
    Entry& entry = entries_[(rows == kTileRows) * 4 +
                            (width == kPointwiseBlock) * 2 + accumulate];
    if (!entry.gemm || entry.rows != rows || entry.width != width) {
      entry = {rows, width, Gemm(shape_of(rows, width, accumulate))};
    }
    return *entry.gemm;
  }

 private:
  struct Entry {
    int64_t rows = 0;
    int64_t width = 0;
    std::optional<Gemm> gemm;
  };
  std::array<Entry, 8> entries_;
};

// y tile = z tile * w, over the channels in blocks.
void ForwardTile(const Conv1x1Forward& a, int64_t row, int64_t rows,
                 float* packed, TileGemms& gemms) {
  float* y = a.y + row * a.ldy;
  for (int64_t c = 0; c < a.c; c += kPointwiseBlock) {
    const int64_t width = std::min(kPointwiseBlock, a.c - c);
    const float* z = a.x.x + row * a.x.ld + c;
    int64_t ldz = a.x.ld;
    if (!a.x.stored()) {
      a.x.Pack(row, rows, c, width, packed, kPointwiseBlock);
      z = packed;
      ldz = kPointwiseBlock;
    }
    const Gemm& gemm = gemms.Get(
        rows, width, c > 0, [&](int64_t m, int64_t n, bool accumulate) {
          return GemmShape{m, a.k, n, ldz, a.k, a.ldy, false, accumulate};
        });
    gemm(z, a.w + c * a.k, y);
  }
  a.dropout.Apply(row, rows, a.k, y, a.ldy);
}

struct BackwardBuffers {
  explicit BackwardBuffers(float* scratch, int64_t k) {
    ScratchCursor cursor(scratch);
    z = cursor.Take(kTileRows * kPointwiseBlock);
    dz = cursor.Take(kTileRows * kPointwiseBlock);
    dy = cursor.Take(kTileRows * k);
    sums = cursor.Take(2 * kPointwiseBlock);
  }
  float* z;
  float* dz;
  float* dy;
  float* sums;
};

struct BackwardGemms {
  TileGemms weight;
  TileGemms data;
};

void BackwardTile(const Conv1x1Backward& a, const float* w_transposed,
                  int64_t row, int64_t rows, bool first,
                  const BackwardBuffers& b, float* dw, BackwardGemms& gemms,
                  BatchNormSinkChunk& sink) {
  const float* dy = a.output.dy + row * a.output.ld;
  int64_t lddy = a.output.ld;
  if (!a.output.ready()) {
    a.output.Finish(row, rows, a.k, b.dy, a.k);
    dy = b.dy;
    lddy = a.k;
  }
  for (int64_t c = 0; c < a.c; c += kPointwiseBlock) {
    const int64_t width = std::min(kPointwiseBlock, a.c - c);
    const float* z = a.x.x + row * a.x.ld + c;
    int64_t ldz = a.x.ld;
    if (!a.x.stored()) {
      a.x.Pack(row, rows, c, width, b.z, kPointwiseBlock);
      z = b.z;
      ldz = kPointwiseBlock;
    }
    // dw (width x k) += z^T (width x rows) * dy (rows x k)
    const Gemm& weight_gemm = gemms.weight.Get(
        rows, width, !first, [&](int64_t k, int64_t m, bool accumulate) {
          return GemmShape{
              m, a.k, k, ldz, lddy, a.k, /*transpose_a=*/true, accumulate};
        });
    weight_gemm(z, dy, dw + c * a.k);
    float* dz = b.dz;
    int64_t lddz = kPointwiseBlock;
    if (a.sink.dy != nullptr) {
      dz = a.sink.dy + row * a.sink.lddy + c;
      lddz = a.sink.lddy;
    }
    const Gemm& data_gemm =
        gemms.data.Get(rows, width, false, [&](int64_t m, int64_t n, bool) {
          return GemmShape{m, n, a.k, lddy, a.c, lddz};
        });
    data_gemm(dy, w_transposed + c, dz);
    sink.Put(row, rows, c, width, dz, lddz);
  }
}

}  // namespace

int64_t Conv1x1ForwardScratchFloats(int64_t threads, int64_t k) {
  return threads * ForwardThreadFloats(k);
}

void Run(const Context& ctx, const Conv1x1Forward& a) {
  ParallelForChunks(
      ctx.threads(), ImageChunks(a.images, a.chunks),
      [&](const Chunk& chunk, int64_t index, int thread) {
        ScratchCursor cursor(a.scratch + thread * ForwardThreadFloats(a.k));
        float* packed = cursor.Take(kTileRows * kPointwiseBlock);
        float* tile_moments = cursor.Take(2 * a.k);
        const int64_t end = chunk.end * a.pixels;
        auto for_each_tile = [&](auto fn) {
          for (int64_t r = chunk.begin * a.pixels; r < end; r += kTileRows) {
            fn(r, std::min(kTileRows, end - r));
          }
        };
        TileGemms gemms;
        if (a.moments == nullptr) {
          for_each_tile([&](int64_t row, int64_t rows) {
            ForwardTile(a, row, rows, packed, gemms);
          });
          return;
        }
        MomentsPartial moments(a.moments, index, a.k);
        for_each_tile([&](int64_t row, int64_t rows) {
          ForwardTile(a, row, rows, packed, gemms);
          moments.AddTile(rows, a.y + row * a.ldy, a.ldy, tile_moments);
        });
      });
}

int64_t Conv1x1BackwardScratchFloats(int64_t threads, int64_t c, int64_t k) {
  return AlignedFloats(c * k) + threads * BackwardThreadFloats(k);
}

void Run(const Context& ctx, const Conv1x1Backward& a) {
  float* w_transposed = a.scratch;
  float* thread_scratch = a.scratch + AlignedFloats(a.c * a.k);
  TransposeWeights(a.c, a.k, a.w, w_transposed);
  const FixedChunks chunks = ImageChunks(a.images, a.chunks);
  ClearSums(a.sink, chunks.count());
  ParallelForChunks(
      ctx.threads(), chunks,
      [&](const Chunk& chunk, int64_t index, int thread) {
        const BackwardBuffers buffers(
            thread_scratch + thread * BackwardThreadFloats(a.k), a.k);
        BatchNormSinkChunk sink(a.sink, index, buffers.sums);
        BackwardGemms gemms;
        float* dw = a.dw_partials + index * a.c * a.k;
        const int64_t begin = chunk.begin * a.pixels;
        const int64_t end = chunk.end * a.pixels;
        for (int64_t r = begin; r < end; r += kTileRows) {
          BackwardTile(a, w_transposed, r, std::min(kTileRows, end - r),
                       r == begin, buffers, dw, gemms, sink);
        }
      });
  ReduceWeightGradient(ctx, a.dw_partials, chunks.count(), a.c * a.k, a.dw);
}

}  // namespace densenet
