#include "core/ops/max_pool_cpu.h"

#include <algorithm>

#include "core/cpu/pool_windows.h"

namespace densenet {
namespace {

// Channels whose winners are tracked at a time, on the stack.
constexpr int64_t kChannelBlock = 64;

// A later element replaces the best so far; NaN wins and stays.
inline bool Beats(float candidate, float best) {
  return candidate > best || (candidate != candidate && best == best);
}

void PoolRow(const ImageRows<const float>& x, const PoolWindow& window,
             int64_t n, int64_t channels, float* __restrict__ out) {
  const float* first = x.at(n, window.h_begin, window.w_begin);
  std::copy(first, first + channels, out);
  for (int64_t h = window.h_begin; h < window.h_end; ++h) {
    for (int64_t w = window.w_begin; w < window.w_end; ++w) {
      const float* const in = x.at(n, h, w);
      for (int64_t c = 0; c < channels; ++c) {
        const float candidate = in[c];
        const float best = out[c];
        out[c] = Beats(candidate, best) ? candidate : best;
      }
    }
  }
}

// Adds the gradient of one window to the first of its largest elements.
void ScatterWindow(const ImageRows<const float>& x, const PoolWindow& window,
                   int64_t n, int64_t channel, int64_t channels,
                   const float* __restrict__ gradient,
                   const ImageRows<float>& dx) {
  float best[kChannelBlock];
  int32_t where[kChannelBlock];  // the element's number within the window
  const float* first = x.at(n, window.h_begin, window.w_begin) + channel;
  std::copy(first, first + channels, best);
  std::fill(where, where + channels, 0);
  int32_t number = 0;
  for (int64_t h = window.h_begin; h < window.h_end; ++h) {
    for (int64_t w = window.w_begin; w < window.w_end; ++w, ++number) {
      const float* const in = x.at(n, h, w) + channel;
      for (int64_t c = 0; c < channels; ++c) {
        const bool beats = Beats(in[c], best[c]);
        best[c] = beats ? in[c] : best[c];
        where[c] = beats ? number : where[c];
      }
    }
  }
  number = 0;
  for (int64_t h = window.h_begin; h < window.h_end; ++h) {
    for (int64_t w = window.w_begin; w < window.w_end; ++w, ++number) {
      float* const out = dx.at(n, h, w) + channel;
      for (int64_t c = 0; c < channels; ++c) {
        // A sum in every lane, not a store in some: vectorizes.
        const float share = gradient[channel + c];
        out[c] += where[c] == number ? share : 0.0f;
      }
    }
  }
}

}  // namespace

void MaxPoolCpu(const Context& ctx, ConstTensorView x, const PoolParams& params,
                const WindowGeometry& geometry, TensorView y) {
  const ImageRows<const float> in(x);
  const ImageRows<float> out(y);
  const FixedChunks chunks(x.dim(0) * out.height, 1, kMaxPoolTasks);
  ParallelForChunks(
      ctx.threads(), chunks, [&](const Chunk& chunk, int64_t, int) {
        for (int64_t row = chunk.begin; row < chunk.end; ++row) {
          const int64_t n = row / out.height;
          const int64_t p = row % out.height;
          for (int64_t q = 0; q < out.width; ++q) {
            PoolRow(in,
                    ClippedWindow(p, q, in.height, in.width, params, geometry),
                    n, x.dim(3), out.at(n, p, q));
          }
        }
      });
}

void MaxPoolBackwardCpu(const Context& ctx, ConstTensorView x,
                        ConstTensorView dy, const PoolParams& params,
                        const WindowGeometry& geometry, TensorView dx) {
  const ImageRows<const float> in(x);
  const ImageRows<const float> gradient(dy);
  const ImageRows<float> out(dx);
  const int64_t channels = x.dim(3);
  const FixedChunks chunks(x.dim(0), 1, kMaxPoolTasks);
  // Windows overlap, so an image is one task: its sums keep their order.
  ParallelForChunks(
      ctx.threads(), chunks, [&](const Chunk& chunk, int64_t, int) {
        for (int64_t n = chunk.begin; n < chunk.end; ++n) {
          ClearImage(out, n, channels);
          for (int64_t p = 0; p < gradient.height; ++p) {
            for (int64_t q = 0; q < gradient.width; ++q) {
              const PoolWindow window =
                  ClippedWindow(p, q, in.height, in.width, params, geometry);
              for (int64_t c = 0; c < channels; c += kChannelBlock) {
                ScatterWindow(in, window, n, c,
                              std::min(kChannelBlock, channels - c),
                              gradient.at(n, p, q), out);
              }
            }
          }
        }
      });
}

}  // namespace densenet
