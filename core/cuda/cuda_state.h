// core/cuda/cuda_state.h
//
// What a Context on a card owns: its stream and the library handles. Created
// with the stream alone; a handle is created when an op first asks for it, so
// a program pays for what it uses.
//
// Memory   the libraries keep some memory of their own on the card for each
//          handle; no MemoryResource sees it
// Threads  as Context: one thread of control at a time

#ifndef DENSENET_CORE_CUDA_CUDA_STATE_H_
#define DENSENET_CORE_CUDA_CUDA_STATE_H_

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/cuda/unique_handles.h"
#include "core/device.h"
#include "core/status.h"

namespace densenet {

class CudaState {
 public:
  // Makes `device` current and gives it a context.
  // Errors  Unavailable  no such device, or why it cannot be used
  static StatusOr<std::shared_ptr<CudaState>> Create(Device device);

  Device device() const { return device_; }
  int multiprocessors() const { return multiprocessors_; }
  cudaStream_t stream() const { return stream_.get(); }
  // Created at the first call.
  StatusOr<cublasLtHandle_t> cublas_lt();
  StatusOr<cudnnHandle_t> cudnn();

  // Waits for everything enqueued. A fault of a kernel ends the process here,
  // naming the op launched last.
  Status Synchronize();

  // The launch path and the library ops say what they enqueue, so that a fault
  // can be told with a name. `op` must be a literal.
  void set_last_op(std::string_view op) { last_op_ = op; }
  // "AffineRelu, stream 0x55d0c8 of cuda:0": for the text of a failed call.
  std::string Where(std::string_view op) const;

 private:
  CudaState(Device device, int multiprocessors, UniqueStream stream)
      : device_(device),
        multiprocessors_(multiprocessors),
        stream_(std::move(stream)) {}

  Device device_;
  int multiprocessors_;
  std::string_view last_op_ = "nothing yet";
  UniqueStream stream_;
  UniqueCublasLt cublas_lt_;  // after the stream: destroyed before it
  UniqueCudnn cudnn_;
};

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_CUDA_STATE_H_
