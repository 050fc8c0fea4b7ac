// memory/arena.h
//
// One block of a MemoryResource that a step's buffers share; sized by a plan.
// Several schedules that never run at the same time may share one arena.

#ifndef DENSENET_MEMORY_ARENA_H_
#define DENSENET_MEMORY_ARENA_H_

#include "core/tensor.h"

namespace densenet {

class Arena {
 public:
  // Errors  ResourceExhausted  the resource has no room
  static StatusOr<Arena> Create(MemoryResource& resource, int64_t bytes) {
    ASSIGN_OR_RETURN(Tensor block,
                     Tensor::Empty(resource, DType::kUInt8, {bytes}));
    return Arena(std::move(block));
  }

  char* base() { return static_cast<char*>(block_.view().raw()); }
  int64_t bytes() const { return block_.bytes(); }

 private:
  explicit Arena(Tensor block) : block_(std::move(block)) {}

  Tensor block_;
};

}  // namespace densenet

#endif  // DENSENET_MEMORY_ARENA_H_
