#include "densenet/kernels/batch_norm_sink.h"

#include <algorithm>

#include "densenet/kernels/row_kernels.h"

namespace densenet {

void ClearSums(const BatchNormSink& sink, int64_t chunks) {
  std::fill_n(sink.partials, chunks * 2 * sink.channels, 0.0);
}

BatchNormSinkChunk::BatchNormSinkChunk(const BatchNormSink& sink, int64_t chunk,
                                       float* tile_sums)
    : sink_(sink),
      tile_sums_(tile_sums),
      sum_dy_(sink.partials + chunk * 2 * sink.channels),
      sum_dyx_(sum_dy_ + sink.channels) {}

void BatchNormSinkChunk::Put(int64_t row, int64_t rows, int64_t channel,
                             int64_t channels, const float* dz, int64_t lddz) {
  const BatchNormSink& s = sink_;
  const float* x = s.x + row * s.ldx + channel;
  const float* scale = s.scale + channel;
  const float* shift = s.shift + channel;
  const float* mean = s.mean + channel;
  // A tile's rows are summed in float32, tiles in float64.
  for (int64_t r = 0; r < rows; r += kTileRows) {
    const int64_t n = std::min(kTileRows, rows - r);
    float* tile_dyx = tile_sums_ + channels;
    const float* dz_r = dz + r * lddz;
    const float* x_r = x + r * s.ldx;
    if (s.dy != nullptr) {
      MaskedSumsRows(n, channels, x_r, s.ldx, scale, shift, mean, dz_r, lddz,
                     s.dy + (row + r) * s.lddy + channel, s.lddy, tile_sums_,
                     tile_dyx);
    } else {
      float* g = s.g + (row + r) * s.ldg + channel;
      auto put = s.overwrite_g ? MaskedScaleRows : MaskedAccumulateRows;
      put(n, channels, x_r, s.ldx, scale, shift, mean, dz_r, lddz, g, s.ldg,
          tile_sums_, tile_dyx);
    }
    for (int64_t c = 0; c < channels; ++c) {
      sum_dy_[channel + c] += tile_sums_[c];
      sum_dyx_[channel + c] += tile_dyx[c];
    }
  }
}

}  // namespace densenet
