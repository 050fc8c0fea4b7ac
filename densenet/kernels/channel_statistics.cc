#include "densenet/kernels/channel_statistics.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "densenet/kernels/row_kernels.h"
#include "densenet/kernels/scratch.h"

namespace densenet {

MomentsPartial::MomentsPartial(double* partials, int64_t chunk,
                               int64_t channels)
    : channels_(channels),
      mean_(partials + chunk * 2 * channels),
      m2_(mean_ + channels) {
  std::fill(mean_, mean_ + 2 * channels, 0.0);
}

void MomentsPartial::AddTile(int64_t rows, const float* x, int64_t ldx,
                             float* tile) {
  float* tile_m2 = tile + channels_;
  MomentsRows(rows, channels_, x, ldx, tile, tile_m2);
  const double total = count_ + static_cast<double>(rows);
  const double weight = static_cast<double>(rows) / total;
  const double cross = count_ * weight;
  for (int64_t c = 0; c < channels_; ++c) {
    const double delta = tile[c] - mean_[c];
    mean_[c] += delta * weight;
    m2_[c] += tile_m2[c] + delta * delta * cross;
  }
  count_ = total;
}

void MergeMoments(const double* partials, const FixedChunks& images,
                  int64_t pixels, int64_t channels, double epsilon,
                  ChannelStatistics out) {
  const double total = static_cast<double>(images.items() * pixels);
  CHECK_GT(total, 1);
  for (int64_t c = 0; c < channels; ++c) {
    double count = 0;
    double mean = 0;
    double m2 = 0;
    for (int64_t i = 0; i < images.count(); ++i) {
      const double* part = partials + i * 2 * channels;
      const double n = static_cast<double>(images.chunk(i).size() * pixels);
      const double delta = part[c] - mean;
      const double weight = n / (count + n);
      mean += delta * weight;
      m2 += part[channels + c] + delta * delta * count * weight;
      count += n;
    }
    out.mean[c] = static_cast<float>(mean);
    out.inv_std[c] = static_cast<float>(1 / std::sqrt(m2 / total + epsilon));
    out.variance[c] = static_cast<float>(m2 / (total - 1));
  }
}

int64_t MomentsScratchFloats(int64_t channels) {
  return AlignedFloats(2 * channels);
}

void GatherMoments(const Context& ctx, const FixedChunks& images,
                   int64_t pixels, int64_t channels, const float* x,
                   int64_t ldx, double* partials, float* scratch) {
  ParallelForChunks(
      ctx.threads(), images,
      [&](const Chunk& chunk, int64_t index, int thread) {
        MomentsPartial partial(partials, index, channels);
        float* tile = scratch + thread * MomentsScratchFloats(channels);
        const int64_t end = chunk.end * pixels;
        for (int64_t r = chunk.begin * pixels; r < end; r += kTileRows) {
          partial.AddTile(std::min(kTileRows, end - r), x + r * ldx, ldx, tile);
        }
      });
}

}  // namespace densenet
