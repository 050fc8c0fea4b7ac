#include "core/ops/affine_relu_cpu.h"

#include <algorithm>
#include <cstdint>

#include "core/cpu/chunks.h"
#include "core/ops/affine_relu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/ops/affine_relu_cpu.cc"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace densenet::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// One row of C channels. Instruction sets without a fused multiply-add round
// twice in MulAdd: there every element takes the scalar way.
void AffineReluRow(const float* x, const float* s, const float* t,
                   int64_t channels, float* y) {
  int64_t c = 0;
#if HWY_NATIVE_FMA
  const hn::ScalableTag<float> d;
  const auto zero = hn::Zero(d);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; c + lanes <= channels; c += lanes) {
    const auto v = hn::MulAdd(hn::LoadU(d, x + c), hn::LoadU(d, s + c),
                              hn::LoadU(d, t + c));
    hn::StoreU(hn::IfThenZeroElse(hn::Lt(v, zero), v), d, y + c);
  }
#endif
  for (; c < channels; ++c) y[c] = AffineReluOf(x[c], s[c], t[c]);
}

void AffineReluRows(ConstTensorView x, const float* s, const float* t,
                    int64_t row_begin, int64_t row_end, TensorView y) {
  const int64_t channels = x.dim(-1);
  const float* in = x.data<float>();
  float* out = y.data<float>();
  for (int64_t row = row_begin; row < row_end; ++row) {
    AffineReluRow(in + row * x.row_stride(), s, t, channels,
                  out + row * y.row_stride());
  }
}

}  // namespace densenet::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace densenet {

HWY_EXPORT(AffineReluRows);

void AffineReluCpu(const Context& ctx, ConstTensorView x, ConstTensorView s,
                   ConstTensorView t, TensorView y) {
  // 64 KiB read: a few times the cost of handing a chunk to a thread.
  constexpr int64_t kChunkElems = 16 << 10;
  constexpr int64_t kMaxChunks = int64_t{1} << 20;
  const FixedChunks chunks(
      x.rows(), std::max<int64_t>(1, kChunkElems / x.dim(-1)), kMaxChunks);
  const float* scale = s.data<float>();
  const float* offset = t.data<float>();
  ParallelForChunks(ctx.threads(), chunks,
                    [&](const Chunk& rows, int64_t /*index*/, int /*thread*/) {
                      HWY_DYNAMIC_DISPATCH(AffineReluRows)
                      (x, scale, offset, rows.begin, rows.end, y);
                    });
}

}  // namespace densenet
#endif  // HWY_ONCE
