#include "densenet/kernels/conv3x3.h"

#include <algorithm>

#include "core/cpu/gemm.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/scratch.h"
#include "densenet/kernels/weight_gradient.h"

namespace densenet {
namespace {

constexpr int64_t kSide = 3;
constexpr int64_t kTaps = kSide * kSide;

// An image with a border of one zero pixel, `channels` floats a pixel.
struct PaddedImage {
  PaddedImage(float* base, const Conv3x3Shape& shape, int64_t channel_count)
      : data(base),
        height(shape.height),
        width(shape.width),
        channels(channel_count) {}

  static int64_t Floats(const Conv3x3Shape& s, int64_t channels) {
    return (s.height + 2) * (s.width + 2) * channels;
  }
  int64_t pitch() const { return width + 2; }
  // Pixel (h, w) of the padded image: (0, 0) is the corner of the border.
  float* At(int64_t h, int64_t w) const {
    return data + (h * pitch() + w) * channels;
  }
  // Zeroes the border, and calls fill(first pixel of the row, h) for each row.
  template <typename Fill>
  void Pack(Fill fill) const {
    std::fill(At(0, 0), At(1, 1), 0.0f);
    for (int64_t h = 0; h < height; ++h) {
      fill(At(h + 1, 1), h);
      // Right border of this row and left border of the next.
      std::fill(At(h + 1, width + 1), At(h + 2, 1), 0.0f);
    }
    std::fill(At(height + 1, 1), At(height + 2, 0), 0.0f);
  }

  float* data;
  int64_t height;
  int64_t width;
  int64_t channels;
};

void PackNormalized(const NormalizedRows& x, int64_t first_row, int64_t channel,
                    const PaddedImage& image) {
  image.Pack([&](float* row, int64_t h) {
    x.Pack(first_row + h * image.width, image.width, channel, image.channels,
           row, image.channels);
  });
}

// Pointers to the nine taps of output row p: (p + r, s) of the padded image.
void TapRows(const PaddedImage& image, int64_t p, const float** taps) {
  for (int64_t r = 0; r < kSide; ++r) {
    for (int64_t s = 0; s < kSide; ++s) {
      taps[r * kSide + s] = image.At(p + r, s);
    }
  }
}

int64_t ForwardThreadFloats(const Conv3x3Shape& s) {
  const int64_t block = std::min(kChannelBlock, s.c);
  return AlignedFloats(PaddedImage::Floats(s, block)) +
         MomentsScratchFloats(s.k);
}

// All rows of one image: y = sum over channel blocks and taps.
void ForwardImage(const Conv3x3Forward& a, int64_t n, float* padded) {
  const Conv3x3Shape& s = a.shape;
  const int64_t first_row = n * s.pixels();
  const float* x_taps[kTaps];
  const float* w_taps[kTaps];
  for (int64_t c = 0; c < s.c; c += kChannelBlock) {
    const int64_t block = std::min(kChannelBlock, s.c - c);
    const PaddedImage image(padded, s, block);
    PackNormalized(a.x, first_row, c, image);
    for (int64_t t = 0; t < kTaps; ++t) w_taps[t] = a.w + (t * s.c + c) * s.k;
    const BatchGemm gemm({s.width, s.k, block, block, s.k, a.ldy, false,
                          /*accumulate=*/c > 0});
    for (int64_t p = 0; p < s.height; ++p) {
      TapRows(image, p, x_taps);
      gemm(x_taps, w_taps, a.y + (first_row + p * s.width) * a.ldy, kTaps);
    }
  }
  a.dropout.Apply(first_row, s.pixels(), s.k, a.y + first_row * a.ldy, a.ldy);
}

// Padded x and dy, a tile's dz, sums of the sink.
int64_t BackwardThreadFloats(const Conv3x3Shape& s) {
  const int64_t block = std::min(kChannelBlock, s.c);
  return AlignedFloats(PaddedImage::Floats(s, block)) +
         AlignedFloats(PaddedImage::Floats(s, s.k)) +
         AlignedFloats(s.width * block) + AlignedFloats(2 * block);
}

// wf[2 - r][2 - s] (K x C) = transpose of w[r][s] (C x K).
void FlipWeights(const Conv3x3Shape& s, const float* w, float* flipped) {
  for (int64_t t = 0; t < kTaps; ++t) {
    TransposeWeights(s.c, s.k, w + t * s.c * s.k,
                     flipped + (kTaps - 1 - t) * s.c * s.k);
  }
}

struct BackwardBuffers {
  BackwardBuffers(float* scratch, const Conv3x3Shape& s) {
    const int64_t block = std::min(kChannelBlock, s.c);
    ScratchCursor cursor(scratch);
    x = cursor.Take(PaddedImage::Floats(s, block));
    dy = cursor.Take(PaddedImage::Floats(s, s.k));
    dz = cursor.Take(s.width * block);
    sums = cursor.Take(2 * block);
  }
  float* x;
  float* dy;
  float* dz;
  float* sums;
};

// dw[tap] (K x C) += dy^T * x[tap]: one long sum over all padded pixels from
// the first inner one to the last. The border of dy is zero, so what stands
// beside it in x does not matter.
void WeightGradientBlock(const Conv3x3Shape& s, const PaddedImage& x,
                         const PaddedImage& dy, int64_t c, bool first,
                         float* dw) {
  const int64_t begin = dy.pitch() + 1;
  const int64_t pixels = (s.height - 1) * dy.pitch() + s.width;
  const Gemm gemm({s.k, x.channels, pixels, s.k, x.channels, s.c,
                   /*transpose_a=*/true, /*accumulate=*/!first});
  for (int64_t r = 0; r < kSide; ++r) {
    for (int64_t t = 0; t < kSide; ++t) {
      const int64_t tap = r * kSide + t;
      gemm(dy.data + begin * s.k, x.At(r, t), dw + tap * s.k * s.c + c);
    }
  }
}

// dz of one image and channel block, row by row into the sink.
void DataGradientBlock(const Conv3x3Backward& a, int64_t first_row, int64_t c,
                       int64_t block, const PaddedImage& dy,
                       const float* flipped, float* tile,
                       BatchNormSinkChunk& sink) {
  const Conv3x3Shape& s = a.shape;
  const bool store = a.sink.dy != nullptr;
  const int64_t lddz = store ? a.sink.lddy : block;
  const float* dy_taps[kTaps];
  const float* w_taps[kTaps];
  for (int64_t t = 0; t < kTaps; ++t) w_taps[t] = flipped + t * s.k * s.c + c;
  const BatchGemm gemm({s.width, block, s.k, s.k, s.c, lddz});
  for (int64_t p = 0; p < s.height; ++p) {
    const int64_t row = first_row + p * s.width;
    float* dz = store ? a.sink.dy + row * lddz + c : tile;
    TapRows(dy, p, dy_taps);
    gemm(dy_taps, w_taps, dz, kTaps);
    sink.Put(row, s.width, c, block, dz, lddz);
  }
}

void BackwardImage(const Conv3x3Backward& a, int64_t n, bool first,
                   const float* flipped, const BackwardBuffers& b, float* dw,
                   BatchNormSinkChunk& sink) {
  const Conv3x3Shape& s = a.shape;
  const int64_t first_row = n * s.pixels();
  const PaddedImage dy(b.dy, s, s.k);
  dy.Pack([&](float* row, int64_t h) {
    a.output.Finish(first_row + h * s.width, s.width, s.k, row, s.k);
  });
  for (int64_t c = 0; c < s.c; c += kChannelBlock) {
    const int64_t block = std::min(kChannelBlock, s.c - c);
    const PaddedImage x(b.x, s, block);
    PackNormalized(a.x, first_row, c, x);
    WeightGradientBlock(s, x, dy, c, first, dw);
    DataGradientBlock(a, first_row, c, block, dy, flipped, b.dz, sink);
  }
}

}  // namespace

int64_t Conv3x3ForwardScratchFloats(int64_t threads, const Conv3x3Shape& s) {
  return threads * ForwardThreadFloats(s);
}

void Run(const Context& ctx, const Conv3x3Forward& a) {
  const Conv3x3Shape& s = a.shape;
  ParallelForChunks(
      ctx.threads(), ImageChunks(s.images, s.chunks),
      [&](const Chunk& chunk, int64_t index, int thread) {
        ScratchCursor cursor(a.scratch + thread * ForwardThreadFloats(s));
        const int64_t block = std::min(kChannelBlock, s.c);
        float* padded = cursor.Take(PaddedImage::Floats(s, block));
        float* tile_moments = cursor.Take(2 * s.k);
        for (int64_t n = chunk.begin; n < chunk.end; ++n) {
          ForwardImage(a, n, padded);
        }
        if (a.moments == nullptr) return;
        MomentsPartial moments(a.moments, index, s.k);
        const int64_t end = chunk.end * s.pixels();
        for (int64_t r = chunk.begin * s.pixels(); r < end; r += kTileRows) {
          moments.AddTile(std::min(kTileRows, end - r), a.y + r * a.ldy, a.ldy,
                          tile_moments);
        }
      });
}

int64_t Conv3x3BackwardScratchFloats(int64_t threads, const Conv3x3Shape& s) {
  return AlignedFloats(kTaps * s.c * s.k) + AlignedFloats(kTaps * s.c * s.k) +
         threads * BackwardThreadFloats(s);
}

void Run(const Context& ctx, const Conv3x3Backward& a) {
  const Conv3x3Shape& s = a.shape;
  const int64_t filter_floats = kTaps * s.c * s.k;
  float* flipped = a.scratch;
  float* dw_transposed = flipped + AlignedFloats(filter_floats);
  float* thread_scratch = dw_transposed + AlignedFloats(filter_floats);
  FlipWeights(s, a.w, flipped);
  const FixedChunks chunks = ImageChunks(s.images, s.chunks);
  ClearSums(a.sink, chunks.count());
  ParallelForChunks(ctx.threads(), chunks,
                    [&](const Chunk& chunk, int64_t index, int thread) {
                      const BackwardBuffers buffers(
                          thread_scratch + thread * BackwardThreadFloats(s), s);
                      BatchNormSinkChunk sink(a.sink, index, buffers.sums);
                      float* dw = a.dw_partials + index * filter_floats;
                      for (int64_t n = chunk.begin; n < chunk.end; ++n) {
                        BackwardImage(a, n, n == chunk.begin, flipped, buffers,
                                      dw, sink);
                      }
                    });
  ReduceWeightGradient(ctx, a.dw_partials, chunks.count(), filter_floats,
                       dw_transposed);
  for (int64_t t = 0; t < kTaps; ++t) {
    TransposeWeights(s.k, s.c, dw_transposed + t * s.k * s.c,
                     a.dw + t * s.c * s.k);
  }
}

}  // namespace densenet
