// densenet/kernels/channel_statistics.h
//
// Batch mean and variance per channel: every chunk of images gathers mean and
// M2 = sum (x - mean)^2 tile by tile as its kernel writes them; the chunks are
// merged in order. Merging follows Chan, Golub, LeVeque, "Updating formulae
// and a pairwise algorithm for computing sample variances" (1979), in float64:
// nothing cancels when |mean| is far above the deviation.
//
// Shapes    partials: images.count() (chunks) x 2 x channels float64
// Numerics  bitwise independent of the number of threads
// Threads   one MomentsPartial a chunk

#ifndef DENSENET_DENSENET_KERNELS_CHANNEL_STATISTICS_H_
#define DENSENET_DENSENET_KERNELS_CHANNEL_STATISTICS_H_

#include <cstdint>

#include "core/context.h"
#include "core/cpu/chunks.h"

namespace densenet {

// Partial results of a step's reductions number at most this many.
inline constexpr int64_t kMaxChunks = 16;

// The images of a batch in the chunks that every kernel of the step uses.
// `chunks` are those of a tower's share of a batch; 0: these are all images.
inline FixedChunks ImageChunks(int64_t images, int64_t chunks = 0) {
  return chunks > 0 ? FixedChunks::Of(images, chunks)
                    : FixedChunks(images, 1, kMaxChunks);
}

constexpr int64_t MomentsBytes(int64_t channels) {
  return kMaxChunks * 2 * channels * int64_t{sizeof(double)};
}

// Mean and M2 of one chunk, growing tile by tile.
class MomentsPartial {
 public:
  // Part `chunk` of `partials`; starts empty.
  MomentsPartial(double* partials, int64_t chunk, int64_t channels);

  // Adds the rows of a tile. `tile` is scratch of 2 x channels floats.
  void AddTile(int64_t rows, const float* x, int64_t ldx, float* tile);

 private:
  int64_t channels_;
  double count_ = 0;
  double* mean_;
  double* m2_;
};

// Per channel of a batch: what normalizes, and what the running average takes.
struct ChannelStatistics {
  float* mean = nullptr;
  float* inv_std = nullptr;   // 1 / sqrt(M2 / M + epsilon)
  float* variance = nullptr;  // M2 / (M - 1)
};

// Merges the partials of all chunks of `images` of `pixels` each. M = images *
// pixels must be above 1.
void MergeMoments(const double* partials, const FixedChunks& images,
                  int64_t pixels, int64_t channels, double epsilon,
                  ChannelStatistics out);

// Gathers the partials of a tensor that already stands: rows of ldx floats,
// image after image. `scratch`: MomentsScratchFloats a thread.
int64_t MomentsScratchFloats(int64_t channels);
void GatherMoments(const Context& ctx, const FixedChunks& images,
                   int64_t pixels, int64_t channels, const float* x,
                   int64_t ldx, double* partials, float* scratch);

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_CHANNEL_STATISTICS_H_
