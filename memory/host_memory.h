// memory/host_memory.h
//
// Host memory with a limit and statistics. Blocks of 2 MiB and more are asked
// of the system page by page and given back at once, so that the process'
// resident size follows what is active; nothing is cached.
//
// Threads  safe

#ifndef DENSENET_MEMORY_HOST_MEMORY_H_
#define DENSENET_MEMORY_HOST_MEMORY_H_

#include "core/counted_memory.h"

namespace densenet {

class HostMemory final : public CountedMemory {
 public:
  // limit_bytes 0: none.
  explicit HostMemory(int64_t limit_bytes = 0);

 private:
  StatusOr<void*> SystemAllocate(int64_t bytes) override;
  void SystemDeallocate(void* p, int64_t bytes) override;
};

}  // namespace densenet

#endif  // DENSENET_MEMORY_HOST_MEMORY_H_
