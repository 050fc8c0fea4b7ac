// core/cuda/grid.h
//
// The index arithmetic of kernels, apart from them so that tests without a
// card cover it, beyond 2^31 elements too.

#ifndef DENSENET_CORE_CUDA_GRID_H_
#define DENSENET_CORE_CUDA_GRID_H_

#include <cstdint>

#include "core/host_device.h"

namespace densenet {

// Blocks a multiprocessor is given in a grid-stride loop: 2048 threads in
// blocks of 256 or more keep one full.
inline constexpr int64_t kBlocksPerMultiprocessor = 8;

// Blocks for a grid-stride loop over `items` on a card of `multiprocessors`.
DENSENET_HOST_DEVICE constexpr int64_t GridStrideBlocks(int64_t items,
                                                        int block,
                                                        int multiprocessors) {
  const int64_t needed = items / block + (items % block != 0 ? 1 : 0);
  const int64_t useful = kBlocksPerMultiprocessor * multiprocessors;
  return needed < useful ? needed : useful;
}

// The offset of element `i` (row-major) of a (rows x width) view whose rows
// are `row_stride` elements apart.
DENSENET_HOST_DEVICE constexpr int64_t StridedOffset(int64_t i, int64_t width,
                                                     int64_t row_stride) {
  const int64_t row = i / width;
  return row * row_stride + (i - row * width);
}

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_GRID_H_
