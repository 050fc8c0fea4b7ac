#include "densenet/kernels/pool_conv1x1.h"

#include <algorithm>

#include "core/cpu/gemm.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/scratch.h"
#include "densenet/kernels/weight_gradient.h"

namespace densenet {
namespace {

int64_t TilePixels(const PoolConv1x1Shape& s) {
  return s.tile_height() * s.out_width();
}

// A pooled tile and two normalized rows of the input.
int64_t PackFloats(const PoolConv1x1Shape& s) {
  return AlignedFloats(TilePixels(s) * kChannelBlock) +
         AlignedFloats(2 * s.width * kChannelBlock);
}

struct PackBuffers {
  PackBuffers(ScratchCursor& cursor, const PoolConv1x1Shape& s)
      : pooled(cursor.Take(TilePixels(s) * kChannelBlock)),
        rows(cursor.Take(2 * s.width * kChannelBlock)) {}
  float* pooled;
  float* rows;
};

// Pools `width` channels of output rows [p, p + height) of image n.
void PackPooled(const PoolConv1x1Shape& s, const NormalizedRows& x, int64_t n,
                int64_t p, int64_t height, int64_t c, int64_t width,
                const PackBuffers& b) {
  for (int64_t i = 0; i < height; ++i) {
    const int64_t row = (n * s.height + 2 * (p + i)) * s.width;
    const float* z = x.x + row * x.ld + c;
    int64_t ldz = x.ld;
    if (!x.stored()) {
      // Both image rows: they follow each other.
      x.Pack(row, 2 * s.width, c, width, b.rows, kChannelBlock);
      z = b.rows;
      ldz = kChannelBlock;
    }
    AveragePoolRow(s.out_width(), width, z, z + s.width * ldz, ldz,
                   b.pooled + i * s.out_width() * kChannelBlock, kChannelBlock);
  }
}

// Calls fn(first output row, output rows) for every tile of an image.
template <typename Fn>
void ForEachTile(const PoolConv1x1Shape& s, Fn fn) {
  for (int64_t p = 0; p < s.out_height(); p += s.tile_height()) {
    fn(p, std::min(s.tile_height(), s.out_height() - p));
  }
}

void ForwardTile(const PoolConv1x1Forward& a, int64_t n, int64_t p,
                 int64_t height, const PackBuffers& b) {
  const PoolConv1x1Shape& s = a.shape;
  const int64_t row = n * s.out_pixels() + p * s.out_width();
  const int64_t rows = height * s.out_width();
  float* y = a.y + row * a.ldy;
  for (int64_t c = 0; c < s.c; c += kChannelBlock) {
    const int64_t width = std::min(kChannelBlock, s.c - c);
    PackPooled(s, a.x, n, p, height, c, width, b);
    const Gemm gemm({rows, s.k, width, kChannelBlock, s.k, a.ldy, false,
                     /*accumulate=*/c > 0});
    gemm(b.pooled, a.w + c * s.k, y);
  }
  a.dropout.Apply(row, rows, s.k, y, a.ldy);
}

int64_t ForwardThreadFloats(const PoolConv1x1Shape& s) {
  return PackFloats(s) + MomentsScratchFloats(s.k);
}

// The block's transposed weights, packing, the tile's dy and pooled gradient,
// one input row's dz, sums.
int64_t BackwardThreadFloats(const PoolConv1x1Shape& s) {
  return AlignedFloats(s.k * kChannelBlock) + PackFloats(s) +
         AlignedFloats(TilePixels(s) * s.k) +
         AlignedFloats(TilePixels(s) * kChannelBlock) +
         AlignedFloats(s.width * kChannelBlock) +
         AlignedFloats(2 * kChannelBlock);
}

struct BackwardBuffers {
  BackwardBuffers(float* scratch, const PoolConv1x1Shape& s)
      : cursor(scratch),
        w_transposed(cursor.Take(s.k * kChannelBlock)),
        pack(cursor, s),
        dy(cursor.Take(TilePixels(s) * s.k)),
        d_pooled(cursor.Take(TilePixels(s) * kChannelBlock)),
        dz(cursor.Take(s.width * kChannelBlock)),
        sums(cursor.Take(2 * kChannelBlock)) {}
  ScratchCursor cursor;
  float* w_transposed;  // (K, block)
  PackBuffers pack;
  float* dy;
  float* d_pooled;
  float* dz;
  float* sums;
};

// dz of one input row: a quarter of the pooled gradient for each pixel of a
// window, zero for an odd last one.
void UnpoolRow(const PoolConv1x1Shape& s, const float* d_pooled, int64_t width,
               float* dz) {
  constexpr float kQuarter = 0.25f;
  for (int64_t q = 0; q < s.out_width(); ++q) {
    const float* from = d_pooled + q * kChannelBlock;
    float* to = dz + 2 * q * kChannelBlock;
    for (int64_t c = 0; c < width; ++c) to[c] = kQuarter * from[c];
    std::copy(to, to + width, to + kChannelBlock);
  }
  if (s.width % 2 == 1) {
    std::fill_n(dz + (s.width - 1) * kChannelBlock, width, 0.0f);
  }
}

// One channel block of one tile.
void BackwardTile(const PoolConv1x1Backward& a, int64_t n, int64_t p,
                  int64_t height, int64_t c, bool first,
                  const BackwardBuffers& b, float* dw,
                  BatchNormSinkChunk& sink) {
  const PoolConv1x1Shape& s = a.shape;
  const int64_t out_row = n * s.out_pixels() + p * s.out_width();
  const int64_t rows = height * s.out_width();
  const int64_t width = std::min(kChannelBlock, s.c - c);
  CopyRows(rows, s.k, a.dy + out_row * a.lddy, a.lddy, b.dy, s.k);
  a.dropout.Apply(out_row, rows, s.k, b.dy, s.k);
  PackPooled(s, a.x, n, p, height, c, width, b.pack);
  const Gemm weight_gemm({width, s.k, rows, kChannelBlock, s.k, s.k,
                          /*transpose_a=*/true, /*accumulate=*/!first});
  weight_gemm(b.pack.pooled, b.dy, dw + c * s.k);
  const Gemm data_gemm({rows, width, s.k, s.k, width, kChannelBlock});
  data_gemm(b.dy, b.w_transposed, b.d_pooled);
  for (int64_t i = 0; i < height; ++i) {
    UnpoolRow(s, b.d_pooled + i * s.out_width() * kChannelBlock, width, b.dz);
    const int64_t row = (n * s.height + 2 * (p + i)) * s.width;
    sink.Put(row, s.width, c, width, b.dz, kChannelBlock);
    sink.Put(row + s.width, s.width, c, width, b.dz, kChannelBlock);
  }
}

// The odd last row of image n was not pooled.
void PutUnusedRow(const PoolConv1x1Shape& s, int64_t n, int64_t c,
                  const BackwardBuffers& b, BatchNormSinkChunk& sink) {
  if (s.height % 2 == 0) return;
  const int64_t row = (n * s.height + s.height - 1) * s.width;
  std::fill_n(b.dz, s.width * kChannelBlock, 0.0f);
  sink.Put(row, s.width, c, std::min(kChannelBlock, s.c - c), b.dz,
           kChannelBlock);
}

}  // namespace

int64_t PoolConv1x1ForwardScratchFloats(int64_t threads,
                                        const PoolConv1x1Shape& shape) {
  return threads * ForwardThreadFloats(shape);
}

void Run(const Context& ctx, const PoolConv1x1Forward& a) {
  const PoolConv1x1Shape& s = a.shape;
  ParallelForChunks(
      ctx.threads(), ImageChunks(s.images, s.chunks),
      [&](const Chunk& chunk, int64_t index, int thread) {
        ScratchCursor cursor(a.scratch + thread * ForwardThreadFloats(s));
        const PackBuffers pack(cursor, s);
        float* tile_moments = cursor.Take(2 * s.k);
        for (int64_t n = chunk.begin; n < chunk.end; ++n) {
          ForEachTile(s, [&](int64_t p, int64_t height) {
            ForwardTile(a, n, p, height, pack);
          });
        }
        if (a.moments == nullptr) return;
        MomentsPartial moments(a.moments, index, s.k);
        const int64_t end = chunk.end * s.out_pixels();
        for (int64_t r = chunk.begin * s.out_pixels(); r < end;
             r += kTileRows) {
          moments.AddTile(std::min(kTileRows, end - r), a.y + r * a.ldy, a.ldy,
                          tile_moments);
        }
      });
}

int64_t PoolConv1x1BackwardScratchFloats(int64_t threads,
                                         const PoolConv1x1Shape& s) {
  return threads * BackwardThreadFloats(s);
}

void Run(const Context& ctx, const PoolConv1x1Backward& a) {
  const PoolConv1x1Shape& s = a.shape;
  const int64_t sums = ImageChunks(s.images, s.chunks).count();
  ClearSums(a.sink, sums);
  const FixedChunks chunks(s.images, 1, std::min(sums, s.dw_partials()));
  const int64_t blocks = (s.c + kChannelBlock - 1) / kChannelBlock;
  const bool single = s.dw_partials() == 1;
  float* partials = single ? a.dw : a.dw_partials;
  ctx.threads().ParallelFor(
      chunks.count() * blocks, [&](int64_t item, int thread) {
        const int64_t index = item / blocks;
        const int64_t c = item % blocks * kChannelBlock;
        const Chunk chunk = chunks.chunk(index);
        const BackwardBuffers buffers(
            a.scratch + thread * BackwardThreadFloats(s), s);
        TransposeWeights(std::min(kChannelBlock, s.c - c), s.k, a.w + c * s.k,
                         buffers.w_transposed);
        BatchNormSinkChunk sink(a.sink, index, buffers.sums);
        float* dw = partials + index * s.c * s.k;
        for (int64_t n = chunk.begin; n < chunk.end; ++n) {
          ForEachTile(s, [&](int64_t p, int64_t height) {
            BackwardTile(a, n, p, height, c, n == chunk.begin && p == 0,
                         buffers, dw, sink);
          });
          PutUnusedRow(s, n, c, buffers, sink);
        }
      });
  if (!single) {
    ReduceWeightGradient(ctx, partials, chunks.count(), s.c * s.k, a.dw);
  }
}

}  // namespace densenet
