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

// What a search for room reads of a buffer that has its place: kept close
// together, since plans of deep networks hold tens of thousands of buffers and
// each search walks over all of them.
struct Placed {
  int64_t begin = 0;  // bytes
  int64_t end = 0;
  int64_t first_use = 0;
  int64_t last_use = 0;
};

// The lowest offset at which `buffer` meets none that is alive together with
// it. `placed` is ordered by `begin`.
int64_t LowestOffset(const PlannedBuffer& buffer,
                     const std::vector<Placed>& placed) {
  const int64_t bytes = AlignUp(buffer.bytes);
  int64_t offset = 0;
  for (const Placed& other : placed) {
    if (other.last_use < buffer.first_use ||
        buffer.last_use < other.first_use) {
      continue;
    }
    if (offset + bytes <= other.begin) break;
    offset = std::max(offset, other.end);
  }
  return offset;
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
  std::vector<Placed> placed;  // by begin
  placed.reserve(all.size());
  for (size_t i : order) {
    PlannedBuffer& buffer = all[i];
    const int64_t begin = LowestOffset(buffer, placed);
    const int64_t end = begin + AlignUp(buffer.bytes);
    buffer.offset_bytes = begin;
    plan.arena_bytes_ = std::max(plan.arena_bytes_, end);
    auto after = std::upper_bound(
        placed.begin(), placed.end(), begin,
        [](int64_t value, const Placed& p) { return value < p.begin; });
    placed.insert(after, {begin, end, buffer.first_use, buffer.last_use});
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
