// core/counted_memory.h
//
// A MemoryResource that asks the system for every block, gives it back at
// once, and keeps the limit and the statistics. What is left to a resource is
// how it takes and returns a block.
//
// Invariant  active_bytes <= limit_bytes, also while threads allocate at once
// Threads    safe

#ifndef DENSENET_CORE_COUNTED_MEMORY_H_
#define DENSENET_CORE_COUNTED_MEMORY_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "core/device.h"
#include "core/memory_resource.h"
#include "core/status.h"

namespace densenet {

class CountedMemory : public MemoryResource {
 public:
  // CHECKs that everything was returned.
  ~CountedMemory() override;
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;

  Device device() const final { return device_; }
  StatusOr<void*> Allocate(int64_t bytes) final;
  void Deallocate(void* p, int64_t bytes) final;
  MemoryStats stats() const final;
  void ResetPeak() final;

 protected:
  // `name` opens every message; limit_bytes 0: none.
  CountedMemory(std::string name, Device device, int64_t limit_bytes);

 private:
  // bytes > 0. A null pointer: the system has no room. Called without a lock.
  virtual StatusOr<void*> SystemAllocate(int64_t bytes) = 0;
  virtual void SystemDeallocate(void* p, int64_t bytes) = 0;
  // Follows the numbers when the system has no room.
  virtual std::string SystemRoom() const { return ""; }

  const std::string name_;
  const Device device_;
  mutable std::mutex mutex_;
  MemoryStats stats_;
};

}  // namespace densenet

#endif  // DENSENET_CORE_COUNTED_MEMORY_H_
