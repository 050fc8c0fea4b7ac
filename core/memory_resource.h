// core/memory_resource.h
//
// Where tensors get their bytes. All device memory of the program passes
// through a MemoryResource, so its peak can be reported and limited.
// Implementations live in memory/ (host) and core/cuda/ (device, pinned).

#ifndef DENSENET_CORE_MEMORY_RESOURCE_H_
#define DENSENET_CORE_MEMORY_RESOURCE_H_

#include <cstdint>
#include <string_view>

#include "core/device.h"
#include "core/status.h"

namespace densenet {

struct MemoryStats {
  int64_t active_bytes = 0;    // handed out and not yet returned
  int64_t reserved_bytes = 0;  // held from the system: active + cached
  int64_t peak_bytes = 0;      // largest active_bytes since ResetPeak()
  int64_t limit_bytes = 0;     // 0: none
  int64_t allocations = 0;     // calls of Allocate that succeeded
};

// Every block is aligned to this many bytes, on every device.
inline constexpr int64_t kAlignmentBytes = 64;

class MemoryResource {
 public:
  virtual ~MemoryResource() = default;

  virtual Device device() const = 0;
  // Threads  safe
  // Errors   ResourceExhausted  names requested, active, reserved, peak, limit
  //          InvalidArgument    bytes < 0
  // Zero bytes gives a null pointer, which Deallocate accepts.
  virtual StatusOr<void*> Allocate(int64_t bytes) = 0;
  // `bytes` as given to Allocate.
  virtual void Deallocate(void* p, int64_t bytes) = 0;
  virtual MemoryStats stats() const = 0;
  virtual void ResetPeak() = 0;
};

// The message of an allocation that did not fit, one wording everywhere.
Status OutOfMemory(std::string_view resource, int64_t requested_bytes,
                   const MemoryStats& stats);

}  // namespace densenet

#endif  // DENSENET_CORE_MEMORY_RESOURCE_H_
