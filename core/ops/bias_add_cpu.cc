#include "core/ops/bias_add_cpu.h"

#include "core/cpu/channel_kernels.h"
#include "core/cpu/chunks.h"
#include "core/cpu/rows.h"
#include "core/cpu/workspace.h"

namespace densenet {
namespace {

// At most so many partial sums of the bias gradient.
constexpr int64_t kMaxPartials = 128;
constexpr int64_t kMinRows = 64;

FixedChunks RowChunks(ConstTensorView dy) {
  return FixedChunks(dy.rows(), kMinRows, kMaxPartials);
}

}  // namespace

void BiasAddCpu(const Context& ctx, ConstTensorView x, ConstTensorView bias,
                TensorView y) {
  const float* const px = x.data<float>();
  const float* const pb = bias.data<float>();
  float* const py = y.data<float>();
  const int64_t x_stride = x.row_stride();
  const int64_t y_stride = y.row_stride();
  ForEachRow(ctx.threads(), /*packed=*/false, x.rows(), x.dim(-1),
             [=](int64_t row, int64_t column, int64_t columns) {
               const float* const in = px + row * x_stride + column;
               float* const out = py + row * y_stride + column;
               for (int64_t i = 0; i < columns; ++i) {
                 out[i] = in[i] + pb[column + i];
               }
             });
}

int64_t BiasAddBackwardWorkspaceBytesCpu(ConstTensorView dy) {
  WorkspaceCutter cutter;
  cutter.Take<float>(RowChunks(dy).count() * dy.dim(-1));
  return cutter.used_bytes();
}

void BiasAddBackwardCpu(const Context& ctx, ConstTensorView dy, TensorView db,
                        absl::Span<char> workspace) {
  const FixedChunks chunks = RowChunks(dy);
  const int64_t channels = dy.dim(-1);
  WorkspaceCutter cutter(workspace);
  float* const partials = cutter.Take<float>(chunks.count() * channels);
  const float* const pdy = dy.data<float>();
  const int64_t stride = dy.row_stride();
  ParallelForChunks(
      ctx.threads(), chunks, [&](const Chunk& chunk, int64_t index, int) {
        SumRows(chunk.size(), channels, {pdy + chunk.begin * stride, stride},
                partials + index * channels);
      });
  float* const out = db.data<float>();
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < chunks.count(); ++i) {
      sum += partials[i * channels + c];
    }
    out[c] = static_cast<float>(sum);
  }
}

}  // namespace densenet
