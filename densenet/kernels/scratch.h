// densenet/kernels/scratch.h
//
// Scratch of a parallel kernel: one equal part a thread, cut into arrays whose
// starts are aligned to kAlignmentBytes. A kernel's ...ScratchFloats function
// and its loop walk the same cuts.

#ifndef DENSENET_DENSENET_KERNELS_SCRATCH_H_
#define DENSENET_DENSENET_KERNELS_SCRATCH_H_

#include <cstdint>

#include "core/memory_resource.h"

namespace densenet {

constexpr int64_t AlignedFloats(int64_t floats) {
  constexpr int64_t kStep = kAlignmentBytes / int64_t{sizeof(float)};
  return (floats + kStep - 1) / kStep * kStep;
}

// Hands out consecutive aligned arrays of one thread's part.
class ScratchCursor {
 public:
  explicit ScratchCursor(float* begin) : next_(begin) {}
  float* Take(int64_t floats) {
    float* taken = next_;
    next_ += AlignedFloats(floats);
    return taken;
  }

 private:
  float* next_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_KERNELS_SCRATCH_H_
