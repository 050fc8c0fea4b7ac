#include "densenet/kernels/batch_norm_passes.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/row_kernels.h"
#include "densenet/kernels/scratch.h"

namespace densenet {
namespace {

// Calls fn(first row, rows) for every tile of the batch.
void ForEachTile(const Context& ctx, const PassShape& shape,
                 absl::FunctionRef<void(int64_t row, int64_t rows)> fn) {
  ParallelForChunks(ctx.threads(), ImageChunks(shape.images, shape.chunks),
                    [&](const Chunk& chunk, int64_t, int) {
                      const int64_t end = chunk.end * shape.pixels;
                      for (int64_t r = chunk.begin * shape.pixels; r < end;
                           r += kTileRows) {
                        fn(r, std::min(kTileRows, end - r));
                      }
                    });
}

}  // namespace

void NormalizePass(const Context& ctx, const PassShape& shape,
                   const NormalizedRows& x, float* z, int64_t ldz) {
  ForEachTile(ctx, shape, [&](int64_t row, int64_t rows) {
    x.Pack(row, rows, 0, shape.channels, z + row * ldz, ldz);
  });
}

int64_t SinkPassScratchFloats(int64_t threads, int64_t channels) {
  return threads * AlignedFloats(2 * channels);
}

void SinkPass(const Context& ctx, const PassShape& shape, const float* dz,
              int64_t lddz, const BatchNormSink& sink, float* scratch) {
  const FixedChunks chunks = ImageChunks(shape.images, shape.chunks);
  ClearSums(sink, chunks.count());
  ParallelForChunks(ctx.threads(), chunks,
                    [&](const Chunk& chunk, int64_t index, int thread) {
                      BatchNormSinkChunk part(
                          sink, index,
                          scratch + thread * AlignedFloats(2 * shape.channels));
                      const int64_t row = chunk.begin * shape.pixels;
                      part.Put(row, chunk.size() * shape.pixels, 0,
                               shape.channels, dz + row * lddz, lddz);
                    });
}

void Run(const Context& ctx, const InputGradientPass& a) {
  auto rows_kernel = a.add ? BatchNormInputAddRows : BatchNormInputRows;
  ForEachTile(ctx, a.shape, [&](int64_t row, int64_t rows) {
    rows_kernel(rows, a.shape.channels, a.x + row * a.ldx, a.ldx, a.mean,
                a.scale, a.k1, a.k2, a.dy + row * a.lddy, a.lddy,
                a.dx + row * a.lddx, a.lddx);
  });
}

void CopyPass(const Context& ctx, const PassShape& shape, const float* x,
              int64_t ldx, float* y, int64_t ldy, bool add) {
  auto rows_kernel = add ? AddRows : CopyRows;
  ForEachTile(ctx, shape, [&](int64_t row, int64_t rows) {
    rows_kernel(rows, shape.channels, x + row * ldx, ldx, y + row * ldy, ldy);
  });
}

}  // namespace densenet
