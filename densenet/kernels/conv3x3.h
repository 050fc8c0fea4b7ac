// densenet/kernels/conv3x3.h
//
// The 3x3 convolution (stride 1, zero padding 1) that makes a layer's new
// channels: a batch-reduce GEMM over the nine taps of an image that is packed,
// normalized and zero-padded, channel block by channel block, in cache. It
// writes its channels where they belong, in the next columns of the block's
// feature buffer.
//
// Shapes    x (images, H, W, C) rows; w (3, 3, C, K) packed; y, dy
//           (images, H, W, K) rows; dw (3, 3, C, K)
// Types     float32
// Memory    scratch of the ...ScratchFloats functions: a padded image of
//           kChannelBlock channels a thread
// Errors    none: the network validated its configuration
// Numerics  each output one chain over channel blocks, taps, channels; dw: one
//           chain over a chunk's pixels, chunks added in order
// Threads   works on ctx.threads(); bitwise independent of their number

#ifndef DENSENET_DENSENET_KERNELS_CONV3X3_H_
#define DENSENET_DENSENET_KERNELS_CONV3X3_H_

#include <cstdint>

#include "core/context.h"
#include "densenet/kernels/batch_norm_sink.h"
#include "densenet/kernels/normalized_rows.h"

namespace densenet {

struct Conv3x3Shape {
  int64_t images = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t c = 0;
  int64_t k = 0;
  int64_t chunks = 0;  // see ImageChunks

  int64_t pixels() const { return height * width; }
};

struct Conv3x3Forward {
  Conv3x3Shape shape;
  NormalizedRows x;
  const float* w = nullptr;
  float* y = nullptr;
  int64_t ldy = 0;
  OutputDropout dropout;
  double* moments = nullptr;  // MomentsBytes(k); null: not gathered
  float* scratch = nullptr;
};
int64_t Conv3x3ForwardScratchFloats(int64_t threads, const Conv3x3Shape& shape);
void Run(const Context& ctx, const Conv3x3Forward& args);

struct Conv3x3Backward {
  Conv3x3Shape shape;
  NormalizedRows x;
  const float* w = nullptr;
  OutputGradient output;  // finished while it is packed
  BatchNormSink sink;
  float* dw_partials = nullptr;  // kMaxChunks x 9 x c x k
  float* dw = nullptr;
  float* scratch = nullptr;
};
int64_t Conv3x3BackwardScratchFloats(int64_t threads,
                                     const Conv3x3Shape& shape);
void Run(const Context& ctx, const Conv3x3Backward& args);

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_CONV3X3_H_
