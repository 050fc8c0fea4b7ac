// core/cpu/workspace.h
//
// Hands out aligned pieces of an operation's scratch. The same sequence of
// calls on a default WorkspaceCutter (no memory) measures what they need:
//
//   bytes = Cut(WorkspaceCutter(), ...).used_bytes()

#ifndef DENSENET_CORE_CPU_WORKSPACE_H_
#define DENSENET_CORE_CPU_WORKSPACE_H_

#include <glog/logging.h>

#include <cstdint>

#include "absl/types/span.h"
#include "core/memory_resource.h"

namespace densenet {

class WorkspaceCutter {
 public:
  // Only measures: pieces are null pointers.
  WorkspaceCutter() = default;
  explicit WorkspaceCutter(absl::Span<char> memory)
      : begin_(memory.data()), bytes_(static_cast<int64_t>(memory.size())) {}

  // `count` elements at a multiple of kAlignmentBytes; contents undefined.
  template <typename T>
  T* Take(int64_t count) {
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    const int64_t offset = used_bytes_;
    used_bytes_ +=
        (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    if (begin_ == nullptr) return nullptr;
    CHECK_LE(used_bytes_, bytes_);
    return reinterpret_cast<T*>(begin_ + offset);
  }

  int64_t used_bytes() const { return used_bytes_; }

 private:
  char* begin_ = nullptr;
  int64_t bytes_ = 0;
  int64_t used_bytes_ = 0;
};

}  // namespace densenet

#endif  // DENSENET_CORE_CPU_WORKSPACE_H_
