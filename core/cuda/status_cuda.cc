#include "core/cuda/status_cuda.h"

#include <fmt/format.h>
#include <glog/logging.h>

namespace densenet {
namespace {

StatusCode CodeOf(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return StatusCode::kResourceExhausted;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorCudartUnloading:
      return StatusCode::kUnavailable;
    case cudaErrorNotSupported:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return StatusCode::kUnimplemented;
    default:
      return StatusCode::kInternal;
  }
}

StatusCode CodeOf(cublasStatus_t code) {
  switch (code) {
    case CUBLAS_STATUS_ALLOC_FAILED:
      return StatusCode::kResourceExhausted;
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return StatusCode::kUnavailable;
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return StatusCode::kUnimplemented;
    default:
      return StatusCode::kInternal;
  }
}

StatusCode CodeOf(cudnnStatus_t code) {
  switch (code) {
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return StatusCode::kResourceExhausted;
    case CUDNN_STATUS_NOT_INITIALIZED:
      return StatusCode::kUnavailable;
    default:
      break;
  }
  // cuDNN 9 refines each kind of error into codes of its thousand.
  return CUDNN_STATUS_CATEGORY(code) == CUDNN_STATUS_NOT_SUPPORTED
             ? StatusCode::kUnimplemented
             : StatusCode::kInternal;
}

void DieIfSticky(cudaError_t code, const std::string& call) {
  if (!IsStickyFault(code)) return;
  LOG(FATAL)
      << call << ": " << cudaGetErrorString(code) << " ("
      << cudaGetErrorName(code)
      << "). The device is unusable until the process ends. Kernels run "
         "after their launch returns, so an earlier one may be at fault: "
         "Context::Options::synchronize_launches names it";
}

}  // namespace

bool IsStickyFault(cudaError_t code) {
  switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
      return true;
    default:
      return false;
  }
}

Status ErrorStatus(cudaError_t code, const std::string& call) {
  DieIfSticky(code, call);
  // Taken, so that a later launch does not report this error as its own.
  static_cast<void>(cudaGetLastError());
  return MakeStatus(CodeOf(code),
                    fmt::format("{}: {} ({})", call, cudaGetErrorString(code),
                                cudaGetErrorName(code)));
}

Status ErrorStatus(cublasStatus_t code, const std::string& call) {
  DieIfSticky(cudaGetLastError(), call);
  return MakeStatus(CodeOf(code),
                    fmt::format("{}: {}", call, cublasLtGetStatusString(code)));
}

Status ErrorStatus(cudnnStatus_t code, const std::string& call) {
  DieIfSticky(cudaGetLastError(), call);
  char detail[512] = "";
  cudnnGetLastErrorString(detail, sizeof(detail));
  return MakeStatus(CodeOf(code),
                    fmt::format("{}: {}{}{}", call, cudnnGetErrorString(code),
                                detail[0] == '\0' ? "" : ": ", detail));
}

void LogIfError(cudaError_t code, const char* call) noexcept {
  // At exit the runtime may be gone, and its objects with it.
  if (code == cudaSuccess || code == cudaErrorCudartUnloading) return;
  LOG(ERROR) << call << ": " << cudaGetErrorString(code);
}

void LogIfError(cublasStatus_t code, const char* call) noexcept {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  LOG(ERROR) << call << ": " << cublasLtGetStatusString(code);
}

void LogIfError(cudnnStatus_t code, const char* call) noexcept {
  if (code == CUDNN_STATUS_SUCCESS) return;
  LOG(ERROR) << call << ": " << cudnnGetErrorString(code);
}

}  // namespace densenet
