#include "core/ops/global_avg_pool_cpu.h"

#include <algorithm>

#include "core/cpu/chunks.h"
#include "core/cpu/rows.h"

namespace densenet {
namespace {

// Channels summed at a time, on the stack.
constexpr int64_t kChannelBlock = 64;

}  // namespace

void GlobalAvgPoolCpu(const Context& ctx, ConstTensorView x, TensorView y) {
  const int64_t pixels = x.dim(1) * x.dim(2);
  const int64_t channels = x.dim(3);
  const int64_t x_stride = x.row_stride();
  const int64_t y_stride = y.row_stride();
  const float* const px = x.data<float>();
  float* const py = y.data<float>();
  const FixedChunks chunks(x.dim(0), 1, kMaxTasks);
  ParallelForChunks(
      ctx.threads(), chunks, [&](const Chunk& chunk, int64_t, int) {
        for (int64_t n = chunk.begin; n < chunk.end; ++n) {
          for (int64_t c = 0; c < channels; c += kChannelBlock) {
            const int64_t count = std::min(kChannelBlock, channels - c);
            double sums[kChannelBlock] = {};
            const float* in = px + n * pixels * x_stride + c;
            for (int64_t i = 0; i < pixels; ++i, in += x_stride) {
              for (int64_t j = 0; j < count; ++j) sums[j] += in[j];
            }
            float* const out = py + n * y_stride + c;
            for (int64_t j = 0; j < count; ++j) {
              out[j] =
                  static_cast<float>(sums[j] / static_cast<double>(pixels));
            }
          }
        }
      });
}

void GlobalAvgPoolBackwardCpu(const Context& ctx, ConstTensorView dy,
                              TensorView dx) {
  const int64_t pixels = dx.dim(1) * dx.dim(2);
  const int64_t channels = dx.dim(3);
  const int64_t dy_stride = dy.row_stride();
  const int64_t dx_stride = dx.row_stride();
  const float* const pdy = dy.data<float>();
  float* const pdx = dx.data<float>();
  const float weight = static_cast<float>(1.0 / static_cast<double>(pixels));
  const FixedChunks chunks(dx.dim(0), 1, kMaxTasks);
  ParallelForChunks(ctx.threads(), chunks,
                    [&](const Chunk& chunk, int64_t, int) {
                      for (int64_t n = chunk.begin; n < chunk.end; ++n) {
                        const float* const in = pdy + n * dy_stride;
                        float* out = pdx + n * pixels * dx_stride;
                        for (int64_t i = 0; i < pixels; ++i, out += dx_stride) {
                          for (int64_t c = 0; c < channels; ++c)
                            out[c] = in[c] * weight;
                        }
                      }
                    });
}

}  // namespace densenet
