#include "core/ops/dropout_cpu.h"

#include "core/ops/strided_loop.h"

namespace densenet {

void DropoutCpu(const Context& ctx, ConstTensorView x, const DropoutMask& mask,
                const RandomKey& key, TensorView y) {
  const float* px = x.data<float>();
  float* py = y.data<float>();
  const StridedLoop<2> loop(y.shape(), {x.strides(), y.strides()});
  const int64_t x_stride = loop.inner_stride(0);
  const int64_t y_stride = loop.inner_stride(1);
  loop.ForEachRun(
      ctx.threads(), [&](const auto& at, int64_t count, int64_t index) {
        const float* from = px + at[0];
        float* to = py + at[1];
        // A block of four numbers at a time, of which the first and the last
        // may lie partly outside the run.
        for (int64_t i = 0; i < count;) {
          const Philox4 block =
              RandomBlock(key, static_cast<uint64_t>(index + i) / 4);
          for (int64_t k = (index + i) % 4; k < 4 && i < count; ++k, ++i) {
            to[i * y_stride] = mask.Apply(from[i * x_stride], block.v[k]);
          }
        }
      });
}

}  // namespace densenet
