// densenet/kernels/conv1x1.h
//
// The bottleneck's convolution: one GEMM over the (rows x C) view of the
// features, its batch norm and ReLU applied while a tile is packed, its
// output's statistics gathered while the tile is in cache; and its backward
// pass, which never holds a C-wide tensor besides what the sink stores.
//
// Shapes    x (images * pixels, C) rows; w (C, K) packed; y, dy
//           (images * pixels, K) rows; dw (C, K)
// Types     float32
// Memory    scratch of the ...ScratchFloats functions
// Errors    none: the network validated its configuration
// Numerics  each output one chain over C in blocks of kPointwiseBlock; dw: one
//           chain over a chunk's rows, chunks added in order
// Threads   works on ctx.threads(); bitwise independent of their number

#ifndef DENSENET_DENSENET_KERNELS_CONV1X1_H_
#define DENSENET_DENSENET_KERNELS_CONV1X1_H_

#include <cstdint>

#include "core/context.h"
#include "densenet/kernels/batch_norm_sink.h"
#include "densenet/kernels/normalized_rows.h"

namespace densenet {

struct Conv1x1Forward {
  int64_t images = 0;
  int64_t pixels = 0;  // of an image
  int64_t c = 0;
  int64_t k = 0;
  int64_t chunks = 0;  // see ImageChunks
  NormalizedRows x;
  const float* w = nullptr;
  float* y = nullptr;
  int64_t ldy = 0;
  OutputDropout dropout;
  double* moments = nullptr;  // MomentsBytes(k); null: not gathered
  float* scratch = nullptr;
};
int64_t Conv1x1ForwardScratchFloats(int64_t threads, int64_t k);
void Run(const Context& ctx, const Conv1x1Forward& args);

struct Conv1x1Backward {
  int64_t images = 0;
  int64_t pixels = 0;
  int64_t c = 0;
  int64_t k = 0;
  int64_t chunks = 0;  // see ImageChunks
  NormalizedRows x;
  const float* w = nullptr;
  OutputGradient output;
  BatchNormSink sink;
  float* dw_partials = nullptr;  // kMaxChunks x c x k
  float* dw = nullptr;
  float* scratch = nullptr;
};
int64_t Conv1x1BackwardScratchFloats(int64_t threads, int64_t c, int64_t k);
void Run(const Context& ctx, const Conv1x1Backward& args);

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_CONV1X1_H_
