// core/cuda/unique_handles.h
//
// Owners of what the CUDA libraries hand out: move-only, destroyed once.
// Destructors log a failure and go on; they never throw or CHECK.
//
// Threads  as std::unique_ptr
// No static object may own one: the runtime is gone before statics are.

#ifndef DENSENET_CORE_CUDA_UNIQUE_HANDLES_H_
#define DENSENET_CORE_CUDA_UNIQUE_HANDLES_H_

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <memory>
#include <type_traits>

#include "core/cuda/status_cuda.h"

namespace densenet {

// Each Destroy names the library's call for the log.
#define DENSENET_HANDLE_DELETER_(name, handle, destroy) \
  struct name {                                         \
    void operator()(handle h) const noexcept {          \
      LogIfError(destroy(h), #destroy);                 \
    }                                                   \
  }

DENSENET_HANDLE_DELETER_(StreamDeleter, cudaStream_t, cudaStreamDestroy);
DENSENET_HANDLE_DELETER_(EventDeleter, cudaEvent_t, cudaEventDestroy);
DENSENET_HANDLE_DELETER_(CublasLtDeleter, cublasLtHandle_t, cublasLtDestroy);
DENSENET_HANDLE_DELETER_(MatmulDescDeleter, cublasLtMatmulDesc_t,
                         cublasLtMatmulDescDestroy);
DENSENET_HANDLE_DELETER_(MatrixLayoutDeleter, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayoutDestroy);
DENSENET_HANDLE_DELETER_(MatmulPreferenceDeleter, cublasLtMatmulPreference_t,
                         cublasLtMatmulPreferenceDestroy);
DENSENET_HANDLE_DELETER_(CudnnDeleter, cudnnHandle_t, cudnnDestroy);
DENSENET_HANDLE_DELETER_(TensorDescDeleter, cudnnTensorDescriptor_t,
                         cudnnDestroyTensorDescriptor);
DENSENET_HANDLE_DELETER_(FilterDescDeleter, cudnnFilterDescriptor_t,
                         cudnnDestroyFilterDescriptor);
DENSENET_HANDLE_DELETER_(ConvolutionDescDeleter, cudnnConvolutionDescriptor_t,
                         cudnnDestroyConvolutionDescriptor);
#undef DENSENET_HANDLE_DELETER_

template <typename Handle, typename Deleter>
using UniqueHandle = std::unique_ptr<std::remove_pointer_t<Handle>, Deleter>;

using UniqueStream = UniqueHandle<cudaStream_t, StreamDeleter>;
using UniqueEvent = UniqueHandle<cudaEvent_t, EventDeleter>;
using UniqueCublasLt = UniqueHandle<cublasLtHandle_t, CublasLtDeleter>;
using UniqueMatmulDesc = UniqueHandle<cublasLtMatmulDesc_t, MatmulDescDeleter>;
using UniqueMatrixLayout =
    UniqueHandle<cublasLtMatrixLayout_t, MatrixLayoutDeleter>;
using UniqueMatmulPreference =
    UniqueHandle<cublasLtMatmulPreference_t, MatmulPreferenceDeleter>;
using UniqueCudnn = UniqueHandle<cudnnHandle_t, CudnnDeleter>;
using UniqueTensorDesc =
    UniqueHandle<cudnnTensorDescriptor_t, TensorDescDeleter>;
using UniqueFilterDesc =
    UniqueHandle<cudnnFilterDescriptor_t, FilterDescDeleter>;
using UniqueConvolutionDesc =
    UniqueHandle<cudnnConvolutionDescriptor_t, ConvolutionDescDeleter>;

// A stream and an event of the current device (core/cuda/devices.h). Streams
// do not wait for the default stream, which nothing of ours uses.
StatusOr<UniqueStream> CreateStream();
enum class EventTiming { kOff, kOn };
StatusOr<UniqueEvent> CreateEvent(EventTiming timing);
StatusOr<UniqueCublasLt> CreateCublasLt();
// Enqueues on `stream` from then on.
StatusOr<UniqueCudnn> CreateCudnn(cudaStream_t stream);

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_UNIQUE_HANDLES_H_
