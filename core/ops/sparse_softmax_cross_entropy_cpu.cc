#include "core/ops/sparse_softmax_cross_entropy_cpu.h"

#include <algorithm>
#include <cmath>

#include "core/ops/row_loop.h"

namespace densenet {
namespace {

struct RowSum {
  float largest;
  double sum;  // of exp(x - largest)
};

RowSum SumOfExp(const float* x, int64_t width) {
  const float largest = *std::max_element(x, x + width);
  double sum = 0;
  for (int64_t c = 0; c < width; ++c) sum += std::exp(x[c] - largest);
  return {largest, sum};
}

}  // namespace

void SparseSoftmaxCrossEntropyCpu(const Context& ctx, ConstTensorView logits,
                                  ConstTensorView labels, TensorView losses,
                                  double label_smoothing) {
  const float* x = logits.data<float>();
  const int32_t* label = labels.data<int32_t>();
  float* loss = losses.data<float>();
  ForEachRow(ctx.threads(), logits.shape(), [&](int64_t row, int64_t width) {
    const float* from = x + row * logits.row_stride();
    const RowSum s = SumOfExp(from, width);
    const double of_label = from[label[row * labels.stride(0)]];
    double target = of_label;
    if (label_smoothing > 0) {
      double mean = 0;
      for (int64_t c = 0; c < width; ++c) mean += from[c];
      mean /= static_cast<double>(width);
      target = (1 - label_smoothing) * of_label + label_smoothing * mean;
    }
    loss[row * losses.stride(0)] =
        static_cast<float>(std::log(s.sum) + (s.largest - target));
  });
}

void SparseSoftmaxCrossEntropyBackwardCpu(
    const Context& ctx, ConstTensorView logits, ConstTensorView labels,
    ConstTensorView dlosses, TensorView dlogits, double label_smoothing) {
  const float* x = logits.data<float>();
  const int32_t* label = labels.data<int32_t>();
  const float* dloss = dlosses.data<float>();
  float* dx = dlogits.data<float>();
  ForEachRow(ctx.threads(), logits.shape(), [&](int64_t row, int64_t width) {
    const float* from = x + row * logits.row_stride();
    float* to = dx + row * dlogits.row_stride();
    const int32_t which = label[row * labels.stride(0)];
    const double factor = dloss[row * dlosses.stride(0)];
    const RowSum s = SumOfExp(from, width);
    const double spread = label_smoothing / static_cast<double>(width);
    for (int64_t c = 0; c < width; ++c) {
      const double probability = std::exp(from[c] - s.largest) / s.sum;
      const double target = (c == which ? 1.0 - label_smoothing : 0.0) + spread;
      to[c] = static_cast<float>((probability - target) * factor);
    }
  });
}

}  // namespace densenet
