// core/cuda/status_cuda.h
//
// The one place where the codes of CUDA, cuBLASLt and cuDNN become a Status.
//
//   RETURN_IF_ERROR(ToStatus(cudaMemsetAsync(p, 0, bytes, stream),
//                            "cudaMemsetAsync", "bytes=", bytes));
//
// gives "cudaMemsetAsync(bytes=64): invalid argument (cudaErrorInvalidValue)".
//
// Errors   ResourceExhausted  the library could not get memory
//          Unavailable        no driver, no device, or one that is not usable
//          Unimplemented      the library or the device lacks the operation
//          Internal           everything else
//          A sticky fault (an illegal address, say) makes every later call
//          fail, whichever asked: it ends the process with the call's text.
// Threads  safe

#ifndef DENSENET_CORE_CUDA_STATUS_CUDA_H_
#define DENSENET_CORE_CUDA_STATUS_CUDA_H_

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace densenet {

// After such a fault no call on the device succeeds until the process ends.
bool IsStickyFault(cudaError_t code);

// `call` with its arguments, as text. Not for success. The second and third
// look at what CUDA last reported too, to tell a sticky fault.
Status ErrorStatus(cudaError_t code, const std::string& call);
Status ErrorStatus(cublasStatus_t code, const std::string& call);
Status ErrorStatus(cudnnStatus_t code, const std::string& call);

inline bool Succeeded(cudaError_t code) { return code == cudaSuccess; }
inline bool Succeeded(cublasStatus_t code) {
  return code == CUBLAS_STATUS_SUCCESS;
}
inline bool Succeeded(cudnnStatus_t code) {
  return code == CUDNN_STATUS_SUCCESS;
}

// OK, or the error of `call`. `args` go through absl::StrCat, on failure only.
template <typename Code, typename... Args>
Status ToStatus(Code code, std::string_view call, const Args&... args) {
  if (Succeeded(code)) return OkStatus();
  return ErrorStatus(code, absl::StrCat(AbslView(call), "(", args..., ")"));
}

// What a destructor does with a failure: it logs, and goes on.
void LogIfError(cudaError_t code, const char* call) noexcept;
void LogIfError(cublasStatus_t code, const char* call) noexcept;
void LogIfError(cudnnStatus_t code, const char* call) noexcept;

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_STATUS_CUDA_H_
