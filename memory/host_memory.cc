#include "memory/host_memory.h"

#include <glog/logging.h>
#include <sys/mman.h>

#include <cstdlib>

namespace densenet {
namespace {

// A huge page of x86-64; what is larger is mapped by itself.
constexpr int64_t kMapBytes = int64_t{2} << 20;

int64_t RoundUp(int64_t bytes, int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

HostMemory::HostMemory(int64_t limit_bytes)
    : CountedMemory("host memory", Device::Cpu(), limit_bytes) {}

StatusOr<void*> HostMemory::SystemAllocate(int64_t bytes) {
  if (bytes < kMapBytes) {
    return std::aligned_alloc(kAlignmentBytes, RoundUp(bytes, kAlignmentBytes));
  }
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  // Kernels walk whole arenas: with huge pages hardly a TLB miss. A wish, so
  // its refusal is no error.
  (void)madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

void HostMemory::SystemDeallocate(void* p, int64_t bytes) {
  if (bytes < kMapBytes) {
    std::free(p);
  } else {
    CHECK_EQ(munmap(p, bytes), 0);
  }
}

}  // namespace densenet
