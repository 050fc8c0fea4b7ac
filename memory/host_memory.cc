#include "memory/host_memory.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace densenet {
namespace {

constexpr int64_t kMapBytes = int64_t{2} << 20;

int64_t RoundUp(int64_t bytes, int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

void* SystemAllocate(int64_t bytes) {
  if (bytes < kMapBytes) {
    return std::aligned_alloc(kAlignmentBytes, RoundUp(bytes, kAlignmentBytes));
  }
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

void SystemDeallocate(void* p, int64_t bytes) {
  if (bytes < kMapBytes) {
    std::free(p);
  } else {
    CHECK_EQ(munmap(p, bytes), 0);
  }
}

}  // namespace

HostMemory::HostMemory(int64_t limit_bytes) {
  stats_.limit_bytes = limit_bytes;
}

HostMemory::~HostMemory() {
  CHECK_EQ(stats_.active_bytes, 0) << "host memory outlived by its blocks";
}

StatusOr<void*> HostMemory::Allocate(int64_t bytes) {
  if (bytes < 0) {
    return InvalidArgument(
        fmt::format("host memory: requested {} bytes", bytes));
  }
  if (bytes == 0) return nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stats_.limit_bytes > 0 &&
        bytes > stats_.limit_bytes - stats_.active_bytes) {
      return OutOfMemory("host memory", bytes, stats_);
    }
    // Reserved before the system is asked, so that two threads cannot both
    // take the last bytes below the limit.
    stats_.active_bytes += bytes;
  }
  void* p = SystemAllocate(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  if (p == nullptr) {
    stats_.active_bytes -= bytes;
    return OutOfMemory("host memory", bytes, stats_);
  }
  stats_.reserved_bytes += bytes;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.active_bytes);
  ++stats_.allocations;
  return p;
}

void HostMemory::Deallocate(void* p, int64_t bytes) {
  if (p == nullptr) return;
  SystemDeallocate(p, bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.active_bytes -= bytes;
  stats_.reserved_bytes -= bytes;
  CHECK_GE(stats_.active_bytes, 0);
}

MemoryStats HostMemory::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void HostMemory::ResetPeak() {
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.peak_bytes = stats_.active_bytes;
}

}  // namespace densenet
