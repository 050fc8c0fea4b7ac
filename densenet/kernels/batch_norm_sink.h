// densenet/kernels/batch_norm_sink.h
//
// Where a convolution's kernel leaves the gradient dz of its normalized input
// z = max(fma(x, scale, shift), 0): masked by the ReLU, summed per channel for
// d_gamma and d_beta, and either stored or, scaled, put into the gradient of
// x without the terms that need the sums (they follow later).
//
// Shapes    x, dy, g (rows x channels) with their strides; partials:
//           chunks x 2 x channels float64 (ReduceGradientSums)
// Memory    a tile's sums in scratch of 2 x channels floats
// Threads   one BatchNormSinkChunk a chunk, or a chunk and range of channels

#ifndef DENSENET_DENSENET_KERNELS_BATCH_NORM_SINK_H_
#define DENSENET_DENSENET_KERNELS_BATCH_NORM_SINK_H_

#include <cstdint>

namespace densenet {

struct BatchNormSink {
  int64_t channels = 0;
  const float* x = nullptr;
  int64_t ldx = 0;
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* mean = nullptr;
  // One of the two is set.
  float* dy = nullptr;  // gets the masked gradient
  int64_t lddy = 0;
  float* g = nullptr;  // gets scale * the masked gradient
  int64_t ldg = 0;
  bool overwrite_g = false;  // else it is added
  double* partials = nullptr;
};

// Zeroes the sums of the first `chunks` chunks: before any Put.
void ClearSums(const BatchNormSink& sink, int64_t chunks);

// One chunk's view of a sink. Several may serve one chunk when each keeps to
// channels of its own.
class BatchNormSinkChunk {
 public:
  // `tile_sums` is scratch of twice the channels of a Put, floats.
  BatchNormSinkChunk(const BatchNormSink& sink, int64_t chunk,
                     float* tile_sums);

  // Rows [row, row + rows) of channels [channel, channel + channels).
  // dz may be the place where dy will be. lddz 0: all rows have this gradient.
  void Put(int64_t row, int64_t rows, int64_t channel, int64_t channels,
           const float* dz, int64_t lddz);

 private:
  const BatchNormSink& sink_;
  float* tile_sums_;
  double* sum_dy_;
  double* sum_dyx_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_BATCH_NORM_SINK_H_
