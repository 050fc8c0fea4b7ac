// core/cuda/cuda_memory.h
//
// Memory of a card, and page-locked memory of the host that the card reads
// and writes without a copy in between. Both with a limit and statistics.
//
// Blocks come from cudaMalloc and go back with cudaFree, which waits for the
// card: a block may be returned while kernels that use it are still enqueued,
// and may be used on any stream. A step takes one arena and keeps it, so the
// price is paid at its ends; nothing is cached.
//
// Memory   the first block gives the device a context; construction does not
// Errors   those of MemoryResource; the message of a card without room says
//          what it has free
// Threads  safe

#ifndef DENSENET_CORE_CUDA_CUDA_MEMORY_H_
#define DENSENET_CORE_CUDA_CUDA_MEMORY_H_

#include "core/counted_memory.h"

namespace densenet {

class CudaMemory final : public CountedMemory {
 public:
  CudaMemory(Device device, int64_t limit_bytes);

 private:
  StatusOr<void*> SystemAllocate(int64_t bytes) override;
  void SystemDeallocate(void* p, int64_t bytes) override;
  std::string SystemRoom() const override;
};

// Its device() is the CPU: the host reads and writes the blocks.
class PinnedMemory final : public CountedMemory {
 public:
  // `card`: the device whose context the pages are locked in.
  PinnedMemory(Device card, int64_t limit_bytes);

 private:
  StatusOr<void*> SystemAllocate(int64_t bytes) override;
  void SystemDeallocate(void* p, int64_t bytes) override;

  const Device card_;
};

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_CUDA_MEMORY_H_
