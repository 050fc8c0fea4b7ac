#include "core/counted_memory.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <utility>

namespace densenet {

CountedMemory::CountedMemory(std::string name, Device device,
                             int64_t limit_bytes)
    : name_(std::move(name)), device_(device) {
  CHECK_GE(limit_bytes, 0);
  stats_.limit_bytes = limit_bytes;
}

CountedMemory::~CountedMemory() {
  CHECK_EQ(stats_.active_bytes, 0) << name_ << " outlived by its blocks";
}

StatusOr<void*> CountedMemory::Allocate(int64_t bytes) {
  if (bytes < 0) {
    return InvalidArgument(fmt::format("{}: requested {} bytes", name_, bytes));
  }
  if (bytes == 0) return nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stats_.limit_bytes > 0 &&
        bytes > stats_.limit_bytes - stats_.active_bytes) {
      return OutOfMemory(name_, bytes, stats_);
    }
    // Counted before the system is asked, so that two threads cannot both
    // take the last bytes below the limit.
    stats_.active_bytes += bytes;
  }
  const StatusOr<void*> block = SystemAllocate(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  if (!block.ok() || *block == nullptr) {
    stats_.active_bytes -= bytes;
    if (!block.ok()) return Annotate(block.status(), name_);
    const Status status = OutOfMemory(name_, bytes, stats_);
    return ResourceExhausted(
        fmt::format("{}{}", StdView(status.message()), SystemRoom()));
  }
  stats_.reserved_bytes += bytes;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.active_bytes);
  ++stats_.allocations;
  return block;
}

void CountedMemory::Deallocate(void* p, int64_t bytes) {
  if (p == nullptr) return;
  SystemDeallocate(p, bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.active_bytes -= bytes;
  stats_.reserved_bytes -= bytes;
  CHECK_GE(stats_.active_bytes, 0) << name_ << ": more returned than given";
}

MemoryStats CountedMemory::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void CountedMemory::ResetPeak() {
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.peak_bytes = stats_.active_bytes;
}

}  // namespace densenet
