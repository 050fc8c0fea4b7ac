// densenet/kernels/global_pool.h
//
// The head's batch norm, ReLU and global average pooling in one pass over the
// last block's features, and back.
//
// Shapes    x (images * pixels, C) rows; pooled, d_pooled (images, C) packed
// Types     float32
// Memory    scratch of the ...ScratchFloats functions
// Errors    none: the network validated its configuration
// Numerics  pooled: a chain over an image's pixels, divided once
// Threads   works on ctx.threads(); bitwise independent of their number

#ifndef DENSENET_DENSENET_KERNELS_GLOBAL_POOL_H_
#define DENSENET_DENSENET_KERNELS_GLOBAL_POOL_H_

#include <cstdint>

#include "core/context.h"
#include "densenet/kernels/batch_norm_sink.h"
#include "densenet/kernels/normalized_rows.h"

namespace densenet {

struct GlobalPoolForward {
  int64_t images = 0;
  int64_t pixels = 0;
  int64_t c = 0;
  int64_t chunks = 0;  // see ImageChunks
  NormalizedRows x;
  float* pooled = nullptr;
  float* scratch = nullptr;
};
int64_t GlobalPoolForwardScratchFloats(int64_t threads);
void Run(const Context& ctx, const GlobalPoolForward& args);

struct GlobalPoolBackward {
  int64_t images = 0;
  int64_t pixels = 0;
  int64_t c = 0;
  int64_t chunks = 0;  // see ImageChunks
  const float* d_pooled = nullptr;
  BatchNormSink sink;
  float* scratch = nullptr;
};
int64_t GlobalPoolBackwardScratchFloats(int64_t threads, int64_t c);
void Run(const Context& ctx, const GlobalPoolBackward& args);

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_GLOBAL_POOL_H_
