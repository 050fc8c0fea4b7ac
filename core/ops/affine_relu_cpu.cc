#include "core/ops/affine_relu_cpu.h"

#include <algorithm>
#include <cstdint>

#include "core/cpu/channel_kernels.h"
#include "core/cpu/chunks.h"

namespace densenet {

void AffineReluCpu(const Context& ctx, ConstTensorView x, ConstTensorView s,
                   ConstTensorView t, TensorView y) {
  // 64 KiB read: a few times the cost of handing a chunk to a thread.
  constexpr int64_t kChunkElems = 16 << 10;
  constexpr int64_t kMaxChunks = int64_t{1} << 20;
  const int64_t channels = x.dim(-1);
  const FixedChunks chunks(
      x.rows(), std::max<int64_t>(1, kChunkElems / channels), kMaxChunks);
  const float* scale = s.data<float>();
  const float* offset = t.data<float>();
  const float* in = x.data<float>();
  float* out = y.data<float>();
  ParallelForChunks(
      ctx.threads(), chunks,
      [&](const Chunk& rows, int64_t /*index*/, int /*thread*/) {
        AffineReluRows(rows.size(), channels, in + rows.begin * x.row_stride(),
                       x.row_stride(), scale, offset,
                       out + rows.begin * y.row_stride(), y.row_stride());
      });
}

}  // namespace densenet
