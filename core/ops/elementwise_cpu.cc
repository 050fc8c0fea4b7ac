#include "core/ops/elementwise_cpu.h"

#include "core/ops/strided_loop.h"

namespace densenet {
namespace {

struct AddOp {
  static float Of(float a, float b) { return a + b; }
};
struct SubtractOp {
  static float Of(float a, float b) { return a - b; }
};
struct MultiplyOp {
  static float Of(float a, float b) { return a * b; }
};

// Element i depends on elements i alone, so y may be a or b (ivdep).
template <typename Op>
void BinaryRun(int64_t count, const float* a, int64_t a_stride, const float* b,
               int64_t b_stride, float* y, int64_t y_stride) {
  if (a_stride == 1 && b_stride == 1 && y_stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = Op::Of(a[i], b[i]);
  } else if (a_stride == 1 && b_stride == 0 && y_stride == 1) {
    const float value = *b;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = Op::Of(a[i], value);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      y[i * y_stride] = Op::Of(a[i * a_stride], b[i * b_stride]);
    }
  }
}

template <typename Op>
void Binary(const Context& ctx, ConstTensorView a, ConstTensorView b,
            TensorView y) {
  const float* pa = a.data<float>();
  const float* pb = b.data<float>();
  float* py = y.data<float>();
  const StridedLoop<3> loop(y.shape(), {a.strides(), b.strides(), y.strides()});
  loop.ForEachRun(ctx.threads(), [&](const auto& at, int64_t count, int64_t) {
    BinaryRun<Op>(count, pa + at[0], loop.inner_stride(0), pb + at[1],
                  loop.inner_stride(1), py + at[2], loop.inner_stride(2));
  });
}

}  // namespace

void BinaryCpu(const Context& ctx, BinaryOp op, ConstTensorView a,
               ConstTensorView b, TensorView y) {
  switch (op) {
    case BinaryOp::kAdd:
      return Binary<AddOp>(ctx, a, b, y);
    case BinaryOp::kSubtract:
      return Binary<SubtractOp>(ctx, a, b, y);
    case BinaryOp::kMultiply:
      return Binary<MultiplyOp>(ctx, a, b, y);
  }
}

void ScaleCpu(const Context& ctx, ConstTensorView x, float factor,
              TensorView y) {
  Shape repeated = y.strides();
  for (int axis = 0; axis < repeated.rank(); ++axis) repeated.set_dim(axis, 0);
  Binary<MultiplyOp>(
      ctx, x, ConstTensorView(&factor, DType::kFloat32, y.shape(), repeated),
      y);
}

}  // namespace densenet
