#include "memory/plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/memory_resource.h"

namespace densenet {
namespace {

int64_t AlignUp(int64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

bool AliveTogether(const PlannedBuffer& a, const PlannedBuffer& b) {
  return a.first_use <= b.last_use && b.first_use <= a.last_use;
}

}  // namespace

std::string_view Name(BufferKind kind) {
  switch (kind) {
    case BufferKind::kFeatures:
      return "features";
    case BufferKind::kStored:
      return "stored";
    case BufferKind::kGradients:
      return "gradients";
    case BufferKind::kScratch:
      return "scratch";
  }
  return "unknown";
}

MemoryPlan MemoryPlan::Place(std::vector<PlannedBuffer> buffers) {
  MemoryPlan plan;
  plan.buffers_ = std::move(buffers);
  std::vector<PlannedBuffer>& all = plan.buffers_;
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return all[a].bytes > all[b].bytes;
  });
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    PlannedBuffer& buffer = all[i];
    int64_t offset = 0;
    for (size_t j : placed) {
      const PlannedBuffer& other = all[j];
      if (!AliveTogether(buffer, other)) continue;
      if (offset + AlignUp(buffer.bytes) <= other.offset_bytes) break;
      offset = std::max(offset, other.offset_bytes + AlignUp(other.bytes));
    }
    buffer.offset_bytes = offset;
    plan.arena_bytes_ =
        std::max(plan.arena_bytes_, offset + AlignUp(buffer.bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](int64_t value, size_t j) {
                                     return value < all[j].offset_bytes;
                                   }),
                  i);
  }
  // Live bytes change only where a buffer begins or ends.
  std::map<int64_t, int64_t> change;
  for (const PlannedBuffer& buffer : all) {
    change[buffer.first_use] += buffer.bytes;
    change[buffer.last_use + 1] -= buffer.bytes;
  }
  int64_t live = 0;
  for (const auto& [task, bytes] : change) {
    live += bytes;
    if (live > plan.floor_bytes_) {
      plan.floor_bytes_ = live;
      plan.peak_task_ = task;
    }
  }
  return plan;
}

int64_t MemoryPlan::bytes_at_peak(BufferKind kind) const {
  int64_t bytes = 0;
  for (const PlannedBuffer& buffer : buffers_) {
    const bool alive =
        buffer.first_use <= peak_task_ && peak_task_ <= buffer.last_use;
    if (alive && buffer.kind == kind) bytes += buffer.bytes;
  }
  return bytes;
}

}  // namespace densenet
