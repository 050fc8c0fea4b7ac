// densenet/kernels/batch_norm_passes.h
//
// Whole-tensor passes of the strategies that materialize what the fused
// kernels keep in cache: normalize, mask and sum, finish the input gradient,
// copy and add columns. Each splits the batch into the chunks of the step.
//
// Shapes    (images * pixels, channels) rows
// Types     float32
// Memory    scratch of the ...ScratchFloats functions
// Errors    none: the network validated its configuration
// Numerics  element by element as densenet/kernels/row_kernels.h
// Threads   works on ctx.threads(); bitwise independent of their number

#ifndef DENSENET_DENSENET_KERNELS_BATCH_NORM_PASSES_H_
#define DENSENET_DENSENET_KERNELS_BATCH_NORM_PASSES_H_

#include <cstdint>

#include "core/context.h"
#include "densenet/kernels/batch_norm_sink.h"
#include "densenet/kernels/normalized_rows.h"

namespace densenet {

struct PassShape {
  int64_t images = 0;
  int64_t pixels = 0;
  int64_t channels = 0;
  int64_t chunks = 0;  // of the sums of SinkPass; see ImageChunks
};

// z (leading dimension ldz) = the normalized rows.
void NormalizePass(const Context& ctx, const PassShape& shape,
                   const NormalizedRows& x, float* z, int64_t ldz);

// Puts dz, which may stand where the sink stores dy, into the sink.
int64_t SinkPassScratchFloats(int64_t threads, int64_t channels);
void SinkPass(const Context& ctx, const PassShape& shape, const float* dz,
              int64_t lddz, const BatchNormSink& sink, float* scratch);

// dx = (or += with `add`) scale * dy - (k1 + k2 * (x - mean)); dx may be dy.
struct InputGradientPass {
  PassShape shape;
  const float* x = nullptr;
  int64_t ldx = 0;
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* k1 = nullptr;
  const float* k2 = nullptr;
  const float* dy = nullptr;
  int64_t lddy = 0;
  float* dx = nullptr;
  int64_t lddx = 0;
  bool add = false;
};
void Run(const Context& ctx, const InputGradientPass& args);

// y = (or += with `add`) x.
void CopyPass(const Context& ctx, const PassShape& shape, const float* x,
              int64_t ldx, float* y, int64_t ldy, bool add);

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_BATCH_NORM_PASSES_H_
