#include "core/ops/avg_pool_cpu.h"

#include <algorithm>

#include "core/cpu/pool_windows.h"

namespace densenet {
namespace {

float Weight(const PoolWindow& window, const PoolParams& params,
             AvgPoolDivisor divisor) {
  const int64_t elems = divisor == AvgPoolDivisor::kExcludePadding
                            ? window.elems()
                            : params.window_h * params.window_w;
  return 1.0f / static_cast<float>(elems);
}

void PoolRow(const ImageRows<const float>& x, const PoolWindow& window,
             int64_t n, int64_t channels, float weight,
             float* __restrict__ out) {
  std::fill(out, out + channels, 0.0f);
  for (int64_t h = window.h_begin; h < window.h_end; ++h) {
    for (int64_t w = window.w_begin; w < window.w_end; ++w) {
      const float* const in = x.at(n, h, w);
      for (int64_t c = 0; c < channels; ++c) out[c] += in[c];
    }
  }
  for (int64_t c = 0; c < channels; ++c) out[c] *= weight;
}

void SpreadRow(const float* __restrict__ gradient, const PoolWindow& window,
               int64_t n, int64_t channels, float weight,
               const ImageRows<float>& dx) {
  for (int64_t h = window.h_begin; h < window.h_end; ++h) {
    for (int64_t w = window.w_begin; w < window.w_end; ++w) {
      float* const out = dx.at(n, h, w);
      for (int64_t c = 0; c < channels; ++c) out[c] += gradient[c] * weight;
    }
  }
}

}  // namespace

void AvgPoolCpu(const Context& ctx, ConstTensorView x, const PoolParams& params,
                const WindowGeometry& geometry, AvgPoolDivisor divisor,
                TensorView y) {
  const ImageRows<const float> in(x);
  const ImageRows<float> out(y);
  const FixedChunks chunks(x.dim(0) * out.height, 1, kMaxPoolTasks);
  ParallelForChunks(
      ctx.threads(), chunks, [&](const Chunk& chunk, int64_t, int) {
        for (int64_t row = chunk.begin; row < chunk.end; ++row) {
          const int64_t n = row / out.height;
          const int64_t p = row % out.height;
          for (int64_t q = 0; q < out.width; ++q) {
            const PoolWindow window =
                ClippedWindow(p, q, in.height, in.width, params, geometry);
            PoolRow(in, window, n, x.dim(3), Weight(window, params, divisor),
                    out.at(n, p, q));
          }
        }
      });
}

void AvgPoolBackwardCpu(const Context& ctx, ConstTensorView dy,
                        const PoolParams& params,
                        const WindowGeometry& geometry, AvgPoolDivisor divisor,
                        TensorView dx) {
  const ImageRows<const float> gradient(dy);
  const ImageRows<float> out(dx);
  const int64_t channels = dx.dim(3);
  const FixedChunks chunks(dx.dim(0), 1, kMaxPoolTasks);
  // Windows may overlap, so an image is one task: its sums keep their order.
  ParallelForChunks(
      ctx.threads(), chunks, [&](const Chunk& chunk, int64_t, int) {
        for (int64_t n = chunk.begin; n < chunk.end; ++n) {
          ClearImage(out, n, channels);
          for (int64_t p = 0; p < gradient.height; ++p) {
            for (int64_t q = 0; q < gradient.width; ++q) {
              const PoolWindow window =
                  ClippedWindow(p, q, out.height, out.width, params, geometry);
              SpreadRow(gradient.at(n, p, q), window, n, channels,
                        Weight(window, params, divisor), out);
            }
          }
        }
      });
}

}  // namespace densenet
