#include "densenet/kernels/conv1x1.h"

#include <algorithm>

#include "core/cpu/gemm.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/scratch.h"
#include "densenet/kernels/weight_gradient.h"

namespace densenet {
namespace {

int64_t ForwardThreadFloats(int64_t k) {
  return AlignedFloats(kTileRows * kChannelBlock) + MomentsScratchFloats(k);
}

// Packed z, dz, the finished gradient of the output, sums of the sink.
int64_t BackwardThreadFloats(int64_t k) {
  return 2 * AlignedFloats(kTileRows * kChannelBlock) +
         AlignedFloats(kTileRows * k) + AlignedFloats(2 * kChannelBlock);
}

// y tile = z tile * w, over the channels in blocks.
void ForwardTile(const Conv1x1Forward& a, int64_t row, int64_t rows,
                 float* packed) {
  float* y = a.y + row * a.ldy;
  for (int64_t c = 0; c < a.c; c += kChannelBlock) {
    const int64_t width = std::min(kChannelBlock, a.c - c);
    const float* z = a.x.x + row * a.x.ld + c;
    int64_t ldz = a.x.ld;
    if (!a.x.stored()) {
      a.x.Pack(row, rows, c, width, packed, kChannelBlock);
      z = packed;
      ldz = kChannelBlock;
    }
    const Gemm gemm(
        {rows, a.k, width, ldz, a.k, a.ldy, false, /*accumulate=*/c > 0});
    gemm(z, a.w + c * a.k, y);
  }
  a.dropout.Apply(row, rows, a.k, y, a.ldy);
}

// The tile's gradient of the convolution's output; `tile` is used when it does
// not stand at dy as it is needed.
const float* FinishOutputGradient(const OutputGradient& o, int64_t row,
                                  int64_t rows, int64_t k, float* tile,
                                  int64_t* ld) {
  const float* dy = o.dy + row * o.ld;
  *ld = o.ld;
  if (o.k1 == nullptr && !o.dropout.active()) return dy;
  *ld = k;
  if (o.k1 != nullptr) {
    BatchNormInputRows(rows, k, o.y + row * o.ldy, o.ldy, o.mean, o.scale, o.k1,
                       o.k2, dy, o.ld, tile, k);
  } else {
    CopyRows(rows, k, dy, o.ld, tile, k);
  }
  o.dropout.Apply(row, rows, k, tile, k);
  return tile;
}

struct BackwardBuffers {
  explicit BackwardBuffers(float* scratch, int64_t k) {
    ScratchCursor cursor(scratch);
    z = cursor.Take(kTileRows * kChannelBlock);
    dz = cursor.Take(kTileRows * kChannelBlock);
    dy = cursor.Take(kTileRows * k);
    sums = cursor.Take(2 * kChannelBlock);
  }
  float* z;
  float* dz;
  float* dy;
  float* sums;
};

void BackwardTile(const Conv1x1Backward& a, const float* w_transposed,
                  int64_t row, int64_t rows, bool first,
                  const BackwardBuffers& b, float* dw,
                  BatchNormSinkChunk& sink) {
  int64_t lddy;
  const float* dy = FinishOutputGradient(a.output, row, rows, a.k, b.dy, &lddy);
  for (int64_t c = 0; c < a.c; c += kChannelBlock) {
    const int64_t width = std::min(kChannelBlock, a.c - c);
    const float* z = a.x.x + row * a.x.ld + c;
    int64_t ldz = a.x.ld;
    if (!a.x.stored()) {
      a.x.Pack(row, rows, c, width, b.z, kChannelBlock);
      z = b.z;
      ldz = kChannelBlock;
    }
    // dw (width x k) += z^T (width x rows) * dy (rows x k)
    const Gemm weight_gemm({width, a.k, rows, ldz, lddy, a.k,
                            /*transpose_a=*/true, /*accumulate=*/!first});
    weight_gemm(z, dy, dw + c * a.k);
    float* dz = b.dz;
    int64_t lddz = kChannelBlock;
    if (a.sink.dy != nullptr) {
      dz = a.sink.dy + row * a.sink.lddy + c;
      lddz = a.sink.lddy;
    }
    const Gemm data_gemm({rows, width, a.k, lddy, a.c, lddz});
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
      ctx.threads(), ImageChunks(a.images),
      [&](const Chunk& chunk, int64_t index, int thread) {
        ScratchCursor cursor(a.scratch + thread * ForwardThreadFloats(a.k));
        float* packed = cursor.Take(kTileRows * kChannelBlock);
        float* tile_moments = cursor.Take(2 * a.k);
        const int64_t end = chunk.end * a.pixels;
        auto for_each_tile = [&](auto fn) {
          for (int64_t r = chunk.begin * a.pixels; r < end; r += kTileRows) {
            fn(r, std::min(kTileRows, end - r));
          }
        };
        if (a.moments == nullptr) {
          for_each_tile([&](int64_t row, int64_t rows) {
            ForwardTile(a, row, rows, packed);
          });
          return;
        }
        MomentsPartial moments(a.moments, index, a.k);
        for_each_tile([&](int64_t row, int64_t rows) {
          ForwardTile(a, row, rows, packed);
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
  const FixedChunks chunks = ImageChunks(a.images);
  ClearSums(a.sink, chunks.count());
  ParallelForChunks(
      ctx.threads(), chunks,
      [&](const Chunk& chunk, int64_t index, int thread) {
        const BackwardBuffers buffers(
            thread_scratch + thread * BackwardThreadFloats(a.k), a.k);
        BatchNormSinkChunk sink(a.sink, index, buffers.sums);
        float* dw = a.dw_partials + index * a.c * a.k;
        const int64_t begin = chunk.begin * a.pixels;
        const int64_t end = chunk.end * a.pixels;
        for (int64_t r = begin; r < end; r += kTileRows) {
          BackwardTile(a, w_transposed, r, std::min(kTileRows, end - r),
                       r == begin, buffers, dw, sink);
        }
      });
  ReduceWeightGradient(ctx, a.dw_partials, chunks.count(), a.c * a.k, a.dw);
}

}  // namespace densenet
