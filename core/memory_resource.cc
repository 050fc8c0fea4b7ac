#include "core/memory_resource.h"

#include <fmt/format.h>

#include <string>

namespace densenet {

Status OutOfMemory(std::string_view resource, int64_t requested_bytes,
                   const MemoryStats& stats) {
  return ResourceExhausted(fmt::format(
      "{}: out of memory: requested {} bytes, active {}, reserved {}, peak {}, "
      "limit {}",
      resource, requested_bytes, stats.active_bytes, stats.reserved_bytes,
      stats.peak_bytes,
      stats.limit_bytes > 0 ? std::to_string(stats.limit_bytes) : "none"));
}

}  // namespace densenet
