#include "core/cuda/cuda_memory.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/cuda/cuda.h"
#include "core/cuda/devices.h"
#include "core/cuda/status_cuda.h"

namespace densenet {
namespace {

// A null pointer for "no room": CountedMemory knows the numbers to report.
StatusOr<void*> BlockOrNull(cudaError_t code, void* block, const char* call,
                            Device device, int64_t bytes) {
  if (code == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // not the next launch's error
    return nullptr;
  }
  RETURN_IF_ERROR(
      ToStatus(code, call, "bytes=", bytes, ", device=", device.index));
  return block;
}

// Pinned and device memory outlive no block, and a block that cannot be
// returned is a fault of ours or a sticky one, which ToStatus dies of.
void LogIfNotReturned(Device device, cudaError_t code, const char* call) {
  const Status status = ToStatus(code, call, "device=", device.index);
  if (!status.ok()) LOG(ERROR) << status;
}

Status CheckLimit(std::string_view what, int64_t limit_bytes) {
  if (limit_bytes >= 0) return OkStatus();
  return InvalidArgument(fmt::format(
      "{}: limit of {} bytes: expected 0 (none) or more", what, limit_bytes));
}

}  // namespace

CudaMemory::CudaMemory(Device device, int64_t limit_bytes)
    : CountedMemory(fmt::format("memory of {}", device.ToString()), device,
                    limit_bytes) {}

StatusOr<void*> CudaMemory::SystemAllocate(int64_t bytes) {
  RETURN_IF_ERROR(MakeCurrent(device()));
  void* block = nullptr;
  const cudaError_t code = cudaMalloc(&block, static_cast<size_t>(bytes));
  return BlockOrNull(code, block, "cudaMalloc", device(), bytes);
}

void CudaMemory::SystemDeallocate(void* p, int64_t /*bytes*/) {
  const Status current = MakeCurrent(device());
  if (!current.ok()) LOG(ERROR) << current;
  LogIfNotReturned(device(), cudaFree(p), "cudaFree");
}

std::string CudaMemory::SystemRoom() const {
  const StatusOr<CudaMemoryInfo> info = QueryCudaMemory(device());
  if (!info.ok()) return "";
  return fmt::format("; the card has {} of {} bytes free", info->free_bytes,
                     info->total_bytes);
}

PinnedMemory::PinnedMemory(Device card, int64_t limit_bytes)
    : CountedMemory(fmt::format("pinned host memory of {}", card.ToString()),
                    Device::Cpu(), limit_bytes),
      card_(card) {}

StatusOr<void*> PinnedMemory::SystemAllocate(int64_t bytes) {
  RETURN_IF_ERROR(MakeCurrent(card_));
  void* block = nullptr;
  // Portable: locked for every card, whichever context asked.
  const cudaError_t code =
      cudaHostAlloc(&block, static_cast<size_t>(bytes), cudaHostAllocPortable);
  return BlockOrNull(code, block, "cudaHostAlloc", card_, bytes);
}

void PinnedMemory::SystemDeallocate(void* p, int64_t /*bytes*/) {
  const Status current = MakeCurrent(card_);
  if (!current.ok()) LOG(ERROR) << current;
  LogIfNotReturned(card_, cudaFreeHost(p), "cudaFreeHost");
}

StatusOr<std::unique_ptr<MemoryResource>> CreateCudaMemory(
    Device device, int64_t limit_bytes) {
  RETURN_IF_ERROR(CheckLimit("memory of a CUDA device", limit_bytes));
  RETURN_IF_ERROR(CheckUsable(device));
  return std::make_unique<CudaMemory>(device, limit_bytes);
}

StatusOr<std::unique_ptr<MemoryResource>> CreatePinnedMemory(
    Device card, int64_t limit_bytes) {
  RETURN_IF_ERROR(CheckLimit("pinned host memory", limit_bytes));
  RETURN_IF_ERROR(CheckUsable(card));
  return std::make_unique<PinnedMemory>(card, limit_bytes);
}

}  // namespace densenet
