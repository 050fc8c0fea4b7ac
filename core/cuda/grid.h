// core/cuda/grid.h
//
// The index arithmetic of kernels, apart from them so that tests without a
// card cover it, beyond 2^31 elements too.

#ifndef DENSENET_CORE_CUDA_GRID_H_
#define DENSENET_CORE_CUDA_GRID_H_

#include <cstdint>

#include "core/host_device.h"
#include "core/shape.h"

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

// The offset of element `i` (row-major) in a view of any strides. Axes that
// follow on one another are merged, so that a packed view costs no division
// and a channel prefix one.
class StridedIndex {
 public:
  // The next axis inwards; a stride of 0 repeats an element.
  constexpr void Append(int64_t dim, int64_t stride) {
    if (dim == 1) return;
    if (rank_ > 0 && strides_[rank_ - 1] == stride * dim) {
      dims_[rank_ - 1] *= dim;
      strides_[rank_ - 1] = stride;
      return;
    }
    dims_[rank_] = dim;
    strides_[rank_] = stride;
    ++rank_;
  }

  DENSENET_HOST_DEVICE constexpr int64_t Offset(int64_t i) const {
    int64_t offset = 0;
    for (int axis = rank_ - 1; axis > 0; --axis) {
      const int64_t outer = i / dims_[axis];
      offset += (i - outer * dims_[axis]) * strides_[axis];
      i = outer;
    }
    return rank_ == 0 ? 0 : offset + i * strides_[0];
  }

 private:
  int rank_ = 0;
  int64_t dims_[kMaxRank] = {};
  int64_t strides_[kMaxRank] = {};
};

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_GRID_H_
