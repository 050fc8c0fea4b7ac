#include "core/cuda/cuda_state.h"

#include <fmt/format.h>

#include <utility>

#include "core/context.h"
#include "core/cuda/cuda.h"
#include "core/cuda/devices.h"
#include "core/cuda/status_cuda.h"

namespace densenet {

StatusOr<std::shared_ptr<CudaState>> CudaState::Create(Device device) {
  RETURN_IF_ERROR(CheckUsable(device));
  RETURN_IF_ERROR(MakeCurrent(device));
  int multiprocessors = 0;
  RETURN_IF_ERROR(ToStatus(
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                             device.index),
      "cudaDeviceGetAttribute", "multiprocessors, device=", device.index));
  ASSIGN_OR_RETURN(UniqueStream stream, CreateStream());
  return std::shared_ptr<CudaState>(
      new CudaState(device, multiprocessors, std::move(stream)));
}

StatusOr<cublasLtHandle_t> CudaState::cublas_lt() {
  if (cublas_lt_ == nullptr) {
    RETURN_IF_ERROR(MakeCurrent(device_));
    ASSIGN_OR_RETURN(cublas_lt_, CreateCublasLt());
  }
  return cublas_lt_.get();
}

StatusOr<cudnnHandle_t> CudaState::cudnn() {
  if (cudnn_ == nullptr) {
    RETURN_IF_ERROR(MakeCurrent(device_));
    ASSIGN_OR_RETURN(cudnn_, CreateCudnn(stream()));
  }
  return cudnn_.get();
}

Status CudaState::Synchronize() {
  RETURN_IF_ERROR(MakeCurrent(device_));
  const cudaError_t code = cudaStreamSynchronize(stream());
  if (Succeeded(code)) return OkStatus();
  return ToStatus(code, "cudaStreamSynchronize", "last op ", Where(last_op_));
}

std::string CudaState::Where(std::string_view op) const {
  return fmt::format("{}, stream {} of {}", op,
                     static_cast<const void*>(stream()), device_.ToString());
}

StatusOr<std::shared_ptr<CudaState>> CreateCudaState(Device device) {
  return CudaState::Create(device);
}

Status Synchronize(const Context& ctx) {
  return ctx.device().is_cuda() ? ctx.cuda().Synchronize() : OkStatus();
}

}  // namespace densenet
