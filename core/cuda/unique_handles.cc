#include "core/cuda/unique_handles.h"

namespace densenet {

StatusOr<UniqueStream> CreateStream() {
  cudaStream_t stream = nullptr;
  RETURN_IF_ERROR(
      ToStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags", "cudaStreamNonBlocking"));
  return UniqueStream(stream);
}

StatusOr<UniqueEvent> CreateEvent(EventTiming timing) {
  const unsigned flags =
      timing == EventTiming::kOn ? cudaEventDefault : cudaEventDisableTiming;
  cudaEvent_t event = nullptr;
  RETURN_IF_ERROR(ToStatus(cudaEventCreateWithFlags(&event, flags),
                           "cudaEventCreateWithFlags", "flags=", flags));
  return UniqueEvent(event);
}

StatusOr<UniqueCublasLt> CreateCublasLt() {
  cublasLtHandle_t handle = nullptr;
  RETURN_IF_ERROR(ToStatus(cublasLtCreate(&handle), "cublasLtCreate"));
  return UniqueCublasLt(handle);
}

StatusOr<UniqueCudnn> CreateCudnn(cudaStream_t stream) {
  cudnnHandle_t handle = nullptr;
  RETURN_IF_ERROR(ToStatus(cudnnCreate(&handle), "cudnnCreate"));
  UniqueCudnn owner(handle);
  RETURN_IF_ERROR(ToStatus(cudnnSetStream(handle, stream), "cudnnSetStream"));
  return owner;
}

}  // namespace densenet
