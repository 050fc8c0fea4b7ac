// core/cuda/cuda.h
//
// What code without CUDA headers may ask of the CUDA backend. A build without
// it links core/cuda/no_cuda.cc, which answers Unimplemented.

#ifndef DENSENET_CORE_CUDA_CUDA_H_
#define DENSENET_CORE_CUDA_CUDA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/memory_resource.h"
#include "core/status.h"

namespace densenet {

class CudaState;

struct CudaDeviceInfo {
  int index = 0;
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int64_t total_bytes = 0;
  // Taken by querying the driver; needs a context on the device.
  int64_t free_bytes = 0;
  // Why the device cannot be used; empty when it can.
  std::string problem;
};

// True in builds with the CUDA backend.
bool BuiltWithCuda();
// Versions of the toolkit, driver and libraries, "cuda 13.0, driver ...".
std::string CudaVersions();
// Errors  Unimplemented  built without CUDA
//         Unavailable    no driver or no device; the message says which
StatusOr<std::vector<CudaDeviceInfo>> ListCudaDevices();
// Stream and library handles of one device.
StatusOr<std::shared_ptr<CudaState>> CreateCudaState(Device device);
// Memory of a CUDA device with a limit (0: none); statistics as on the host.
StatusOr<std::unique_ptr<MemoryResource>> CreateCudaMemory(Device device,
                                                           int64_t limit_bytes);

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_CUDA_H_
