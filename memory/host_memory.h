// memory/host_memory.h
//
// Host memory with a limit and statistics. Blocks of 2 MiB and more are asked
// of the system page by page and given back at once, so that the process'
// resident size follows what is active; nothing is cached.
//
// Threads  safe

#ifndef DENSENET_MEMORY_HOST_MEMORY_H_
#define DENSENET_MEMORY_HOST_MEMORY_H_

#include <mutex>

#include "core/memory_resource.h"

namespace densenet {

class HostMemory : public MemoryResource {
 public:
  // limit_bytes 0: none.
  explicit HostMemory(int64_t limit_bytes = 0);
  // CHECKs that everything was returned.
  ~HostMemory() override;

  Device device() const override { return Device::Cpu(); }
  StatusOr<void*> Allocate(int64_t bytes) override;
  void Deallocate(void* p, int64_t bytes) override;
  MemoryStats stats() const override;
  void ResetPeak() override;

 private:
  mutable std::mutex mutex_;
  MemoryStats stats_;
};

}  // namespace densenet

#endif  // DENSENET_MEMORY_HOST_MEMORY_H_
