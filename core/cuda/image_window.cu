#include "core/cuda/image_window.h"

#include "core/cuda/launch.h"

namespace densenet {
namespace {

constexpr int kBlock = 256;

// Grid-stride over the packed elements: 4 bytes read, 4 written per element.
__global__ void __launch_bounds__(kBlock)
    PackKernel(const ImageWindow window, const float* __restrict__ x,
               float* __restrict__ packed, const int64_t elems) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < elems;
       i += step) {
    const int64_t source = window.Source(i);
    packed[i] = source < 0 ? 0.0f : x[source];
  }
}

// The same the other way.
__global__ void __launch_bounds__(kBlock)
    UnpackKernel(const ImageWindow window, const float* __restrict__ packed,
                 float* __restrict__ x, const int64_t elems) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < elems;
       i += step) {
    const int64_t target = window.Source(i);
    if (target >= 0) x[target] = packed[i];
  }
}

// Grid-stride over y, whose neighbours are read `cols` apart: for filters,
// which fit the L2 cache.
__global__ void __launch_bounds__(kBlock)
    TransposeKernel(const float* __restrict__ x, const int64_t rows,
                    const int64_t cols, float* __restrict__ y) {
  const int64_t step = int64_t{gridDim.x} * kBlock;
  for (int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x; i < rows * cols;
       i += step) {
    const int64_t col = i / rows;
    y[i] = x[(i - col * rows) * cols + col];
  }
}

}  // namespace

Status PackImages(const Context& ctx, const ImageWindow& window, const float* x,
                  float* packed) {
  const int64_t elems = window.packed_elems();
  return Launch(ctx,
                {.op = "PackImages",
                 .grid = BlocksFor(ctx, elems, kBlock),
                 .block = kBlock},
                PackKernel, window, x, packed, elems);
}

Status UnpackImages(const Context& ctx, const ImageWindow& window,
                    const float* packed, float* x) {
  const int64_t elems = window.packed_elems();
  return Launch(ctx,
                {.op = "UnpackImages",
                 .grid = BlocksFor(ctx, elems, kBlock),
                 .block = kBlock},
                UnpackKernel, window, packed, x, elems);
}

Status TransposeMatrix(const Context& ctx, const float* x, int64_t rows,
                       int64_t cols, float* y) {
  return Launch(ctx,
                {.op = "TransposeMatrix",
                 .grid = BlocksFor(ctx, rows * cols, kBlock),
                 .block = kBlock},
                TransposeKernel, x, rows, cols, y);
}

}  // namespace densenet
