// memory/plan.h
//
// The memory plan of a step: every buffer with its bytes, the first and last
// task that uses it, and where it lies in the arena. Made before the first
// byte is allocated; the run then takes exactly what the plan says.

#ifndef DENSENET_MEMORY_PLAN_H_
#define DENSENET_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace densenet {

enum class BufferKind {
  kFeatures,   // feature maps: what the blocks' layers produced
  kStored,     // further activations kept from forward to backward
  kGradients,  // gradients of activations
  kScratch,    // used inside a task, or shared by tasks
};

std::string_view Name(BufferKind kind);

struct PlannedBuffer {
  std::string name;
  BufferKind kind = BufferKind::kScratch;
  int64_t bytes = 0;
  // Tasks, both inclusive.
  int64_t first_use = 0;
  int64_t last_use = 0;
  // Into the arena; -1 until it is placed.
  int64_t offset_bytes = -1;
};

class MemoryPlan {
 public:
  // Places `buffers` (offset_bytes is set here), so that no two that are alive
  // together overlap: largest first, each at the lowest offset where it fits.
  // Offsets are multiples of kAlignmentBytes.
  static MemoryPlan Place(std::vector<PlannedBuffer> buffers);

  absl::Span<const PlannedBuffer> buffers() const { return buffers_; }
  int64_t arena_bytes() const { return arena_bytes_; }
  // The largest sum of bytes alive together in the arena: no placement can do
  // with less.
  int64_t floor_bytes() const { return floor_bytes_; }
  // Bytes of one kind at the moment at which the arena's live bytes peak.
  int64_t bytes_at_peak(BufferKind kind) const;

 private:
  std::vector<PlannedBuffer> buffers_;
  int64_t arena_bytes_ = 0;
  int64_t floor_bytes_ = 0;
  int64_t peak_task_ = 0;
};

}  // namespace densenet

#endif  // DENSENET_MEMORY_PLAN_H_
