#include "core/ops/relu_cpu.h"

#include "core/cpu/rows.h"
#include "core/ops/relu.h"

namespace densenet {

void ReluCpu(const Context& ctx, ConstTensorView x, TensorView y) {
  const float* const px = x.data<float>();
  float* const py = y.data<float>();
  const int64_t x_stride = x.row_stride();
  const int64_t y_stride = y.row_stride();
  ForEachRow(ctx.threads(), x.IsPacked() && y.IsPacked(), x.rows(),
             x.elems() / x.rows(),
             [=](int64_t row, int64_t column, int64_t columns) {
               const float* const in = px + row * x_stride + column;
               float* const out = py + row * y_stride + column;
               for (int64_t i = 0; i < columns; ++i) out[i] = ReluOf(in[i]);
             });
}

void ReluBackwardCpu(const Context& ctx, ConstTensorView activation,
                     ConstTensorView dy, TensorView dx) {
  const float* const pa = activation.data<float>();
  const float* const pdy = dy.data<float>();
  float* const pdx = dx.data<float>();
  const int64_t a_stride = activation.row_stride();
  const int64_t dy_stride = dy.row_stride();
  const int64_t dx_stride = dx.row_stride();
  ForEachRow(ctx.threads(),
             activation.IsPacked() && dy.IsPacked() && dx.IsPacked(), dy.rows(),
             dy.elems() / dy.rows(),
             [=](int64_t row, int64_t column, int64_t columns) {
               const float* const a = pa + row * a_stride + column;
               const float* const in = pdy + row * dy_stride + column;
               float* const out = pdx + row * dx_stride + column;
               for (int64_t i = 0; i < columns; ++i) {
                 const float gradient = in[i];
                 out[i] = a[i] > 0.0f ? gradient : 0.0f;
               }
             });
}

}  // namespace densenet
