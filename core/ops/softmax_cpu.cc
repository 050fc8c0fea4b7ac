#include "core/ops/softmax_cpu.h"

#include <algorithm>
#include <cmath>

#include "core/ops/row_loop.h"

namespace densenet {

void SoftmaxCpu(const Context& ctx, ConstTensorView x, TensorView y) {
  const float* px = x.data<float>();
  float* py = y.data<float>();
  ForEachRow(ctx.threads(), x.shape(), [&](int64_t row, int64_t width) {
    const float* from = px + row * x.row_stride();
    float* to = py + row * y.row_stride();
    const float largest = *std::max_element(from, from + width);
    double sum = 0;
    for (int64_t c = 0; c < width; ++c) {
      to[c] = std::exp(from[c] - largest);
      sum += to[c];
    }
    const float factor = static_cast<float>(1.0 / sum);
    for (int64_t c = 0; c < width; ++c) to[c] *= factor;
  });
}

void SoftmaxBackwardCpu(const Context& ctx, ConstTensorView y,
                        ConstTensorView dy, TensorView dx) {
  const float* py = y.data<float>();
  const float* pdy = dy.data<float>();
  float* pdx = dx.data<float>();
  ForEachRow(ctx.threads(), y.shape(), [&](int64_t row, int64_t width) {
    const float* value = py + row * y.row_stride();
    const float* gradient = pdy + row * dy.row_stride();
    float* to = pdx + row * dx.row_stride();
    double dot = 0;
    for (int64_t c = 0; c < width; ++c) {
      dot += static_cast<double>(gradient[c]) * value[c];
    }
    for (int64_t c = 0; c < width; ++c) {
      to[c] = static_cast<float>(value[c] * (gradient[c] - dot));
    }
  });
}

}  // namespace densenet
