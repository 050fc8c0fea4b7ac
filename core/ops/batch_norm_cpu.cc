// Rows are split into fixed chunks. Reductions leave one partial per chunk and
// channel, which a second loop over channels combines in chunk order.

#include "core/ops/batch_norm_cpu.h"

#include <algorithm>

#include "core/cpu/channel_kernels.h"
#include "core/cpu/chunks.h"
#include "core/cpu/rows.h"
#include "core/cpu/workspace.h"
#include "core/ops/batch_norm_math.h"

namespace densenet {
namespace {

// At most so many partials, of at least so many rows each.
constexpr int64_t kMaxPartials = 128;
constexpr int64_t kMinRows = 64;
// Channels whose coefficients are computed at a time, on the stack.
constexpr int64_t kChannelBlock = 64;

FixedChunks ReductionChunks(ConstTensorView x) {
  return FixedChunks(x.rows(), kMinRows, kMaxPartials);
}

// Element-wise work: enough rows to hide the cost of the coefficients.
FixedChunks ApplyChunks(ConstTensorView x) {
  return FixedChunks(x.rows(), RowsPerTask(x.dim(-1)), kMaxTasks);
}

FixedChunks ChannelChunks(int64_t channels) {
  return FixedChunks(channels, kChannelBlock, kMaxTasks);
}

template <typename View>
auto RowsOf(View view, const Chunk& chunk, int64_t channel = 0) {
  auto* data = view.template data<float>();
  using T = std::remove_pointer_t<decltype(data)>;
  const int64_t stride = view.row_stride();
  return ChannelRows<T>{data + chunk.begin * stride + channel, stride};
}

// Per-chunk, per-channel partial results and per-channel coefficients.
struct Scratch {
  double* first;   // (chunks, C) chunk means, forward
  double* second;  // (chunks, C) squared deviations, forward
  float* pair;     // (chunks, 2, C) float32 sums as the kernels leave them
  float* inv_std;  // (C), frozen backward
  float* scale;    // (C), backward
  float* slope;    // (C), backward
  float* offset;   // (C), backward

  Scratch(WorkspaceCutter& cutter, ConstTensorView x) {
    const int64_t channels = x.dim(-1);
    const int64_t partials = ReductionChunks(x).count() * channels;
    first = cutter.Take<double>(partials);
    second = cutter.Take<double>(partials);
    pair = cutter.Take<float>(2 * partials);
    inv_std = cutter.Take<float>(channels);
    scale = cutter.Take<float>(channels);
    slope = cutter.Take<float>(channels);
    offset = cutter.Take<float>(channels);
  }
};

// The mean and the squared deviations of one chunk, in two passes over rows
// that are in cache by the second: the float32 mean of the first is only the
// center of the second, so its rounding does not matter.
void ChunkMoments(ConstTensorView x, const Chunk& chunk, double* mean,
                  double* m2, float* pair) {
  const int64_t channels = x.dim(-1);
  float* const sum = pair;
  float* const squares = pair + channels;
  const ChannelRows<const float> rows = RowsOf(x, chunk);
  SumRows(chunk.size(), channels, rows, sum);
  const double count = static_cast<double>(chunk.size());
  // `squares` holds the center until the kernel, done with a channel, stores
  // that channel's sum.
  for (int64_t c = 0; c < channels; ++c) {
    squares[c] = static_cast<float>(static_cast<double>(sum[c]) / count);
    mean[c] = squares[c];
  }
  CenteredSumsRows(chunk.size(), channels, rows, squares, sum, squares);
  for (int64_t c = 0; c < channels; ++c) {
    const double total = sum[c];
    mean[c] += total / count;
    m2[c] = std::max(squares[c] - total * total / count, 0.0);
  }
}

// Sums of dy and of dy * (x - mean) over all rows, per channel, in `dbeta` and
// `dgamma` after multiplication of the latter by inv_std.
void ReduceGradients(const Context& ctx, ConstTensorView x, ConstTensorView dy,
                     const float* mean, const float* inv_std,
                     const Scratch& scratch, float* dgamma, float* dbeta) {
  const int64_t channels = x.dim(-1);
  const FixedChunks chunks = ReductionChunks(x);
  ParallelForChunks(
      ctx.threads(), chunks, [&](const Chunk& chunk, int64_t index, int) {
        float* const sums = scratch.pair + 2 * index * channels;
        GradientSumsRows(chunk.size(), channels, RowsOf(x, chunk),
                         RowsOf(dy, chunk), mean, sums, sums + channels);
      });
  ParallelForChunks(ctx.threads(), ChannelChunks(channels),
                    [&](const Chunk& block, int64_t, int) {
                      for (int64_t c = block.begin; c < block.end; ++c) {
                        double sum_dy = 0;
                        double sum_dy_x = 0;
                        for (int64_t i = 0; i < chunks.count(); ++i) {
                          sum_dy += scratch.pair[2 * i * channels + c];
                          sum_dy_x += scratch.pair[(2 * i + 1) * channels + c];
                        }
                        dbeta[c] = static_cast<float>(sum_dy);
                        dgamma[c] = static_cast<float>(sum_dy_x * inv_std[c]);
                      }
                    });
}

void ApplyScaleShift(const Context& ctx, ConstTensorView x, TensorView y,
                     absl::FunctionRef<ScaleShift(int64_t)> coefficients) {
  ParallelForChunks(
      ctx.threads(), ApplyChunks(x), [&](const Chunk& chunk, int64_t, int) {
        float scale[kChannelBlock];
        float shift[kChannelBlock];
        for (int64_t c = 0; c < x.dim(-1); c += kChannelBlock) {
          const int64_t channels = std::min(kChannelBlock, x.dim(-1) - c);
          for (int64_t i = 0; i < channels; ++i) {
            const ScaleShift s = coefficients(c + i);
            scale[i] = s.scale;
            shift[i] = s.shift;
          }
          ScaleShiftRows(chunk.size(), channels, RowsOf(x, chunk, c), scale,
                         shift, RowsOf(y, chunk, c));
        }
      });
}

void ApplyGradient(const Context& ctx, ConstTensorView x, ConstTensorView dy,
                   const float* mean, const Scratch& scratch, TensorView dx) {
  ParallelForChunks(
      ctx.threads(), ApplyChunks(x), [&](const Chunk& chunk, int64_t, int) {
        BatchNormGradientRows(chunk.size(), x.dim(-1), RowsOf(x, chunk),
                              RowsOf(dy, chunk), mean, scratch.scale,
                              scratch.slope, scratch.offset, RowsOf(dx, chunk));
      });
}

}  // namespace

int64_t BatchNormWorkspaceBytesCpu(ConstTensorView x) {
  WorkspaceCutter cutter;
  Scratch(cutter, x);
  return cutter.used_bytes();
}

void BatchNormStatisticsCpu(const Context& ctx, ConstTensorView x,
                            const BatchNormParams& params, TensorView mean,
                            TensorView inv_std, TensorView running_mean,
                            TensorView running_var,
                            absl::Span<char> workspace) {
  WorkspaceCutter cutter(workspace);
  const Scratch scratch(cutter, x);
  const int64_t channels = x.dim(-1);
  const FixedChunks chunks = ReductionChunks(x);
  ParallelForChunks(ctx.threads(), chunks,
                    [&](const Chunk& chunk, int64_t index, int) {
                      ChunkMoments(x, chunk, scratch.first + index * channels,
                                   scratch.second + index * channels,
                                   scratch.pair + 2 * index * channels);
                    });
  const double rows = static_cast<double>(x.rows());
  float* const out_mean = mean.data<float>();
  float* const out_inv_std = inv_std.data<float>();
  const bool advance = running_mean.raw() != nullptr;
  float* const average = advance ? running_mean.data<float>() : nullptr;
  float* const variance = advance ? running_var.data<float>() : nullptr;
  ParallelForChunks(
      ctx.threads(), ChannelChunks(channels),
      [&](const Chunk& block, int64_t, int) {
        // Chunk by chunk for a few channels: memory is read in order.
        for (int64_t begin = block.begin; begin < block.end;
             begin += kChannelBlock) {
          const int64_t end = std::min(begin + kChannelBlock, block.end);
          Moments totals[kChannelBlock];
          for (int64_t i = 0; i < chunks.count(); ++i) {
            const int64_t count = chunks.chunk(i).size();
            for (int64_t c = begin; c < end; ++c) {
              totals[c - begin] = MergeMoments(
                  totals[c - begin], {count, scratch.first[i * channels + c],
                                      scratch.second[i * channels + c]});
            }
          }
          for (int64_t c = begin; c < end; ++c) {
            const Moments& total = totals[c - begin];
            out_mean[c] = static_cast<float>(total.mean);
            out_inv_std[c] = InverseStd(total.m2 / rows, params.epsilon);
            if (!advance) continue;
            average[c] = UpdateRunning(average[c], total.mean, params.momentum);
            variance[c] = UpdateRunning(variance[c], total.m2 / (rows - 1),
                                        params.momentum);
          }
        }
      });
}

void BatchNormApplyCpu(const Context& ctx, ConstTensorView x,
                       ConstTensorView gamma, ConstTensorView beta,
                       ConstTensorView mean, ConstTensorView inv_std,
                       TensorView y) {
  const float* const g = gamma.data<float>();
  const float* const b = beta.data<float>();
  const float* const m = mean.data<float>();
  const float* const r = inv_std.data<float>();
  ApplyScaleShift(ctx, x, y, [=](int64_t c) {
    return BatchNormScaleShift(g[c], b[c], m[c], r[c]);
  });
}

void BatchNormEvalCpu(const Context& ctx, ConstTensorView x,
                      ConstTensorView gamma, ConstTensorView beta,
                      ConstTensorView running_mean, ConstTensorView running_var,
                      double epsilon, TensorView y) {
  const float* const g = gamma.data<float>();
  const float* const b = beta.data<float>();
  const float* const m = running_mean.data<float>();
  const float* const v = running_var.data<float>();
  ApplyScaleShift(ctx, x, y, [=](int64_t c) {
    return BatchNormScaleShift(g[c], b[c], m[c], InverseStd(v[c], epsilon));
  });
}

// With s = gamma * inv_std and sums over all M rows,
//   dx = s * (dy - sum(dy) / M - (x - mean) * inv_std * dgamma / M)
void BatchNormTrainBackwardCpu(const Context& ctx, ConstTensorView x,
                               ConstTensorView dy, ConstTensorView gamma,
                               ConstTensorView mean, ConstTensorView inv_std,
                               TensorView dx, TensorView dgamma,
                               TensorView dbeta, absl::Span<char> workspace) {
  WorkspaceCutter cutter(workspace);
  const Scratch scratch(cutter, x);
  const float* const r = inv_std.data<float>();
  const float* const g = gamma.data<float>();
  const float* const m = mean.data<float>();
  float* const out_gamma = dgamma.data<float>();
  float* const out_beta = dbeta.data<float>();
  ReduceGradients(ctx, x, dy, m, r, scratch, out_gamma, out_beta);
  const double rows = static_cast<double>(x.rows());
  for (int64_t c = 0; c < x.dim(-1); ++c) {
    const double scale = static_cast<double>(g[c]) * r[c];
    scratch.scale[c] = g[c] * r[c];
    scratch.slope[c] = static_cast<float>(-scale * r[c] * out_gamma[c] / rows);
    scratch.offset[c] = static_cast<float>(-scale * out_beta[c] / rows);
  }
  ApplyGradient(ctx, x, dy, m, scratch, dx);
}

void BatchNormFrozenBackwardCpu(const Context& ctx, ConstTensorView x,
                                ConstTensorView dy, ConstTensorView gamma,
                                ConstTensorView running_mean,
                                ConstTensorView running_var, double epsilon,
                                TensorView dx, TensorView dgamma,
                                TensorView dbeta, absl::Span<char> workspace) {
  WorkspaceCutter cutter(workspace);
  const Scratch scratch(cutter, x);
  const float* const g = gamma.data<float>();
  const float* const v = running_var.data<float>();
  for (int64_t c = 0; c < x.dim(-1); ++c) {
    scratch.inv_std[c] = InverseStd(v[c], epsilon);
  }
  ReduceGradients(ctx, x, dy, running_mean.data<float>(), scratch.inv_std,
                  scratch, dgamma.data<float>(), dbeta.data<float>());
  // dx = s * dy: an affine map without a shift, the same kernel as forward.
  ApplyScaleShift(ctx, dy, dx, [&](int64_t c) {
    return ScaleShift{g[c] * scratch.inv_std[c], 0.0f};
  });
}

}  // namespace densenet
