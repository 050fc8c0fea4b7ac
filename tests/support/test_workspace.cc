#include "tests/support/test_workspace.h"

#include "core/memory_resource.h"

namespace densenet::testing {
namespace {

constexpr int64_t kGuardBytes = 256;
constexpr char kPoison = '\xff';  // four of them are a NaN

}  // namespace

TestWorkspace::TestWorkspace(int64_t bytes)
    : bytes_(bytes), storage_(bytes + kGuardBytes + kAlignmentBytes, kPoison) {
  const auto address = reinterpret_cast<uintptr_t>(storage_.data());
  offset_ = static_cast<int64_t>(-address % kAlignmentBytes);
}

absl::Span<char> TestWorkspace::span() {
  return absl::MakeSpan(storage_.data() + offset_, bytes_);
}

bool TestWorkspace::Intact() const {
  for (int64_t i = 0; i < kGuardBytes; ++i) {
    if (storage_[offset_ + bytes_ + i] != kPoison) return false;
  }
  return true;
}

}  // namespace densenet::testing
