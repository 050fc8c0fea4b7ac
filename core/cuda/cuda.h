// core/cuda/cuda.h
//
// What code without CUDA headers may ask of the CUDA backend. A build without
// it links core/cuda/no_cuda.cc, which answers Unimplemented.
//
// Memory   nothing but CreateCudaState, QueryCudaMemory and the first block of
//          a memory gives a device a context; no other device gets one
// Errors   Unimplemented  built without CUDA
//          Unavailable    no driver, no device, no such device, or why it
//                         cannot be used
// Threads  safe; they may change the calling thread's current CUDA device

#ifndef DENSENET_CORE_CUDA_CUDA_H_
#define DENSENET_CORE_CUDA_CUDA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/memory_resource.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

class Context;
class CudaState;

struct CudaDeviceInfo {
  int index = 0;
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int64_t total_bytes = 0;
  // Why the device cannot be used; empty when it can.
  std::string problem;
};

struct CudaMemoryInfo {
  int64_t free_bytes = 0;
  int64_t total_bytes = 0;
};

// True in builds with the CUDA backend.
bool BuiltWithCuda();
// Versions of toolkit, driver and libraries: "cuda 13.0, driver none, ...".
std::string CudaVersions();
// Every device of the machine, the unusable ones too. Gives none a context.
StatusOr<std::vector<CudaDeviceInfo>> ListCudaDevices();
// What the card has free for this process now. Gives the device a context.
StatusOr<CudaMemoryInfo> QueryCudaMemory(Device device);
// Stream and library handles of one device.
StatusOr<std::shared_ptr<CudaState>> CreateCudaState(Device device);
// Memory of a CUDA device, and page-locked host memory for fast copies to and
// from `card`. limit_bytes 0: none; statistics as on the host.
StatusOr<std::unique_ptr<MemoryResource>> CreateCudaMemory(Device device,
                                                           int64_t limit_bytes);
StatusOr<std::unique_ptr<MemoryResource>> CreatePinnedMemory(
    Device card, int64_t limit_bytes);

// Waits until everything enqueued on the Context is done; nothing to do on a
// CPU. A kernel's fault ends the process here, naming the op launched last.
Status Synchronize(const Context& ctx);

// y = x between the host and the Context's card, in either direction.
// Shapes   equal; row-strided, so a channel prefix of a feature buffer too
// Stream   enqueued on the Context's stream; pageable host memory makes it
//          wait, pinned memory does not: keep it unchanged until then
// Errors   InvalidArgument  shapes, types or strides differ from that, or not
//                           one of the two is on the Context's card
Status CopyBetweenDevices(const Context& ctx, ConstTensorView x, TensorView y);

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_CUDA_H_
