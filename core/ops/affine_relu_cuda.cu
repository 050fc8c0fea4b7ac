#include "core/ops/affine_relu_cuda.h"

#include "core/cuda/grid.h"
#include "core/cuda/launch.h"
#include "core/ops/affine_relu.h"

namespace densenet {
namespace {

constexpr int kBlock = 256;

struct AffineReluArgs {
  const float* x;
  const float* s;
  const float* t;
  float* y;
  int64_t elems;
  int64_t channels;
  int64_t x_row_stride;
  int64_t y_row_stride;
};

// Grid-stride over the elements, neighbouring threads on neighbouring
// channels: 4 bytes read and 4 written per element; s and t stay in cache.
__global__ void __launch_bounds__(kBlock)
    AffineReluKernel(const AffineReluArgs a) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < a.elems;
       i += step) {
    const int64_t row = i / a.channels;
    const int64_t c = i - row * a.channels;
    a.y[row * a.y_row_stride + c] =
        AffineReluOf(a.x[row * a.x_row_stride + c], a.s[c], a.t[c]);
  }
}

}  // namespace

Status AffineReluCuda(const Context& ctx, ConstTensorView x, ConstTensorView s,
                      ConstTensorView t, TensorView y) {
  const AffineReluArgs args{
      .x = x.data<float>(),
      .s = s.data<float>(),
      .t = t.data<float>(),
      .y = y.data<float>(),
      .elems = x.elems(),
      .channels = x.dim(-1),
      .x_row_stride = x.row_stride(),
      .y_row_stride = y.row_stride(),
  };
  return Launch(ctx,
                {.op = "AffineRelu",
                 .grid = BlocksFor(ctx, args.elems, kBlock),
                 .block = kBlock},
                AffineReluKernel, args);
}

}  // namespace densenet
