#include "densenet/kernels/global_pool.h"

#include <algorithm>

#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/scratch.h"

namespace densenet {
namespace {

constexpr int64_t kForwardThreadFloats =
    AlignedFloats(kTileRows * kChannelBlock);

void PoolImage(const GlobalPoolForward& a, int64_t n, float* tile) {
  float* pooled = a.pooled + n * a.c;
  std::fill(pooled, pooled + a.c, 0.0f);
  const int64_t end = (n + 1) * a.pixels;
  for (int64_t row = n * a.pixels; row < end; row += kTileRows) {
    const int64_t rows = std::min(kTileRows, end - row);
    for (int64_t c = 0; c < a.c; c += kChannelBlock) {
      const int64_t width = std::min(kChannelBlock, a.c - c);
      a.x.Pack(row, rows, c, width, tile, kChannelBlock);
      AddColumnSums(rows, width, tile, kChannelBlock, pooled + c);
    }
  }
  const float inverse = 1.0f / static_cast<float>(a.pixels);
  for (int64_t c = 0; c < a.c; ++c) pooled[c] *= inverse;
}

// One pixel's gradient, and the sums of the sink.
int64_t BackwardThreadFloats(int64_t c) {
  return AlignedFloats(c) + AlignedFloats(2 * c);
}

}  // namespace

int64_t GlobalPoolForwardScratchFloats(int64_t threads) {
  return threads * kForwardThreadFloats;
}

void Run(const Context& ctx, const GlobalPoolForward& a) {
  ParallelForChunks(ctx.threads(), ImageChunks(a.images, a.chunks),
                    [&](const Chunk& chunk, int64_t, int thread) {
                      float* tile = a.scratch + thread * kForwardThreadFloats;
                      for (int64_t n = chunk.begin; n < chunk.end; ++n) {
                        PoolImage(a, n, tile);
                      }
                    });
}

int64_t GlobalPoolBackwardScratchFloats(int64_t threads, int64_t c) {
  return threads * BackwardThreadFloats(c);
}

void Run(const Context& ctx, const GlobalPoolBackward& a) {
  const float inverse = 1.0f / static_cast<float>(a.pixels);
  const FixedChunks chunks = ImageChunks(a.images, a.chunks);
  ClearSums(a.sink, chunks.count());
  ParallelForChunks(
      ctx.threads(), chunks,
      [&](const Chunk& chunk, int64_t index, int thread) {
        ScratchCursor cursor(a.scratch + thread * BackwardThreadFloats(a.c));
        float* dz = cursor.Take(a.c);
        BatchNormSinkChunk sink(a.sink, index, cursor.Take(2 * a.c));
        for (int64_t n = chunk.begin; n < chunk.end; ++n) {
          const float* d_pooled = a.d_pooled + n * a.c;
          for (int64_t c = 0; c < a.c; ++c) dz[c] = inverse * d_pooled[c];
          // Every pixel of the image has this gradient.
          sink.Put(n * a.pixels, a.pixels, 0, a.c, dz, /*lddz=*/0);
        }
      });
}

}  // namespace densenet
