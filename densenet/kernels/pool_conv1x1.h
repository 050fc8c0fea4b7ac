// densenet/kernels/pool_conv1x1.h
//
// The transition's convolution behind its pooling: 2x2 average pooling and a
// 1x1 convolution commute, so pooling first does a quarter of the work and
// leaves no tensor at full resolution. Batch norm, ReLU and pooling happen
// while a tile is packed.
//
// Shapes    x (images, H, W, C) rows; w (C, K) packed; y, dy
//           (images, H / 2, W / 2, K) rows: an odd last row or column of x is
//           not used and gets the gradient zero; dw (C, K)
// Types     float32
// Memory    scratch of the ...ScratchFloats functions
// Errors    none: the network validated its configuration
// Numerics  as densenet/kernels/conv1x1.h; dw is summed per chunk of
//           shape.dw_partials() chunks
// Threads   works on ctx.threads(); bitwise independent of their number

#ifndef DENSENET_DENSENET_KERNELS_POOL_CONV1X1_H_
#define DENSENET_DENSENET_KERNELS_POOL_CONV1X1_H_

#include <algorithm>
#include <cstdint>

#include "core/context.h"
#include "densenet/kernels/batch_norm_sink.h"
#include "densenet/kernels/channel_statistics.h"
#include "densenet/kernels/normalized_rows.h"

namespace densenet {

struct PoolConv1x1Shape {
  int64_t images = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t c = 0;
  int64_t k = 0;
  int64_t chunks = 0;  // see ImageChunks

  int64_t out_height() const { return height / 2; }
  int64_t out_width() const { return width / 2; }
  int64_t out_pixels() const { return out_height() * out_width(); }
  // Partial sums of dw: one a chunk of images, fewer where dw is so large that
  // they would outgrow kDwPartialBytes; its channel blocks keep threads busy
  // then. A single one needs no room: dw itself is it.
  int64_t dw_partial_floats() const {
    return dw_partials() > 1 ? dw_partials() * c * k : 0;
  }
  int64_t dw_partials() const {
    constexpr int64_t kDwPartialBytes = int64_t{1} << 20;
    return std::clamp(kDwPartialBytes / (c * k * int64_t{sizeof(float)}),
                      int64_t{1}, kMaxChunks);
  }
  // Output rows of a tile, of about kTileRows pixels.
  int64_t tile_height() const {
    return std::clamp(kTileRows / out_width(), int64_t{1}, out_height());
  }
};

struct PoolConv1x1Forward {
  PoolConv1x1Shape shape;
  NormalizedRows x;
  const float* w = nullptr;
  float* y = nullptr;
  int64_t ldy = 0;
  OutputDropout dropout;
  double* moments = nullptr;  // MomentsBytes(k); null: not gathered
  float* scratch = nullptr;
};
int64_t PoolConv1x1ForwardScratchFloats(int64_t threads,
                                        const PoolConv1x1Shape& shape);
void Run(const Context& ctx, const PoolConv1x1Forward& args);

struct PoolConv1x1Backward {
  PoolConv1x1Shape shape;
  NormalizedRows x;
  const float* w = nullptr;
  const float* dy = nullptr;
  int64_t lddy = 0;
  OutputDropout dropout;
  BatchNormSink sink;
  float* dw_partials = nullptr;  // shape.dw_partial_floats()
  float* dw = nullptr;
  float* scratch = nullptr;
};
int64_t PoolConv1x1BackwardScratchFloats(int64_t threads,
                                         const PoolConv1x1Shape& shape);
void Run(const Context& ctx, const PoolConv1x1Backward& args);

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_POOL_CONV1X1_H_
