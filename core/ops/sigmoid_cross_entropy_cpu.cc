#include "core/ops/sigmoid_cross_entropy_cpu.h"

#include <cmath>

#include "core/ops/strided_loop.h"

namespace densenet {

void SigmoidCrossEntropyCpu(const Context& ctx, ConstTensorView logits,
                            ConstTensorView targets, TensorView losses) {
  const float* px = logits.data<float>();
  const float* pz = targets.data<float>();
  float* py = losses.data<float>();
  const StridedLoop<3> loop(
      logits.shape(), {logits.strides(), targets.strides(), losses.strides()});
  loop.ForEachRun(ctx.threads(), [&](const auto& at, int64_t count, int64_t) {
    for (int64_t i = 0; i < count; ++i) {
      const double x = px[at[0] + i * loop.inner_stride(0)];
      const double z = pz[at[1] + i * loop.inner_stride(1)];
      const double positive = x > 0 || std::isnan(x) ? x : 0.0;
      py[at[2] + i * loop.inner_stride(2)] = static_cast<float>(
          positive - x * z + std::log1p(std::exp(-std::abs(x))));
    }
  });
}

void SigmoidCrossEntropyBackwardCpu(const Context& ctx, ConstTensorView logits,
                                    ConstTensorView targets,
                                    ConstTensorView dlosses,
                                    TensorView dlogits) {
  const float* px = logits.data<float>();
  const float* pz = targets.data<float>();
  const float* pdy = dlosses.data<float>();
  float* pdx = dlogits.data<float>();
  const StridedLoop<4> loop(
      logits.shape(), {logits.strides(), targets.strides(), dlosses.strides(),
                       dlogits.strides()});
  loop.ForEachRun(ctx.threads(), [&](const auto& at, int64_t count, int64_t) {
    for (int64_t i = 0; i < count; ++i) {
      const double x = px[at[0] + i * loop.inner_stride(0)];
      const double z = pz[at[1] + i * loop.inner_stride(1)];
      const double dy = pdy[at[2] + i * loop.inner_stride(2)];
      const double sigmoid = 1.0 / (1.0 + std::exp(-x));
      pdx[at[3] + i * loop.inner_stride(3)] =
          static_cast<float>((sigmoid - z) * dy);
    }
  });
}

}  // namespace densenet
