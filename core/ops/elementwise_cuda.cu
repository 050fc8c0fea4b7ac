#include "core/ops/elementwise_cuda.h"

#include "core/cuda/grid.h"
#include "core/cuda/launch.h"

namespace densenet {
namespace {

constexpr int kBlock = 256;

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Subtract {
  __device__ float operator()(float a, float b) const { return a - b; }
};
struct Multiply {
  __device__ float operator()(float a, float b) const { return a * b; }
};

struct BinaryArgs {
  const float* a;
  const float* b;
  float* y;
  int64_t elems;
  StridedIndex at_a;
  StridedIndex at_b;
  StridedIndex at_y;
};

// Grid-stride over the elements of y in row-major order: 8 bytes read and 4
// written per element; a repeated operand stays in cache.
template <typename Op>
__global__ void __launch_bounds__(kBlock) BinaryKernel(const BinaryArgs args) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < args.elems;
       i += step) {
    args.y[args.at_y.Offset(i)] =
        Op()(args.a[args.at_a.Offset(i)], args.b[args.at_b.Offset(i)]);
  }
}

struct ScaleArgs {
  const float* x;
  float* y;
  float factor;
  int64_t elems;
  StridedIndex at_x;
  StridedIndex at_y;
};

// Grid-stride: 4 bytes read and 4 written per element.
__global__ void __launch_bounds__(kBlock) ScaleKernel(const ScaleArgs args) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < args.elems;
       i += step) {
    args.y[args.at_y.Offset(i)] = args.x[args.at_x.Offset(i)] * args.factor;
  }
}

StridedIndex IndexOf(ConstTensorView view) {
  StridedIndex index;
  for (int axis = 0; axis < view.rank(); ++axis) {
    index.Append(view.dim(axis), view.stride(axis));
  }
  return index;
}

template <typename Op>
Status Binary(const Context& ctx, const char* op, ConstTensorView a,
              ConstTensorView b, TensorView y) {
  const BinaryArgs args{
      .a = a.data<float>(),
      .b = b.data<float>(),
      .y = y.data<float>(),
      .elems = y.elems(),
      .at_a = IndexOf(a),
      .at_b = IndexOf(b),
      .at_y = IndexOf(y),
  };
  return Launch(
      ctx,
      {.op = op, .grid = BlocksFor(ctx, args.elems, kBlock), .block = kBlock},
      BinaryKernel<Op>, args);
}

}  // namespace

Status BinaryCuda(const Context& ctx, BinaryOp op, ConstTensorView a,
                  ConstTensorView b, TensorView y) {
  switch (op) {
    case BinaryOp::kAdd:
      return Binary<Add>(ctx, "Add", a, b, y);
    case BinaryOp::kSubtract:
      return Binary<Subtract>(ctx, "Subtract", a, b, y);
    case BinaryOp::kMultiply:
      return Binary<Multiply>(ctx, "Multiply", a, b, y);
  }
  return Internal("BinaryCuda: no such operation");
}

Status ScaleCuda(const Context& ctx, ConstTensorView x, float factor,
                 TensorView y) {
  const ScaleArgs args{
      .x = x.data<float>(),
      .y = y.data<float>(),
      .factor = factor,
      .elems = y.elems(),
      .at_x = IndexOf(x),
      .at_y = IndexOf(y),
  };
  return Launch(ctx,
                {.op = "Scale",
                 .grid = BlocksFor(ctx, args.elems, kBlock),
                 .block = kBlock},
                ScaleKernel, args);
}

}  // namespace densenet
