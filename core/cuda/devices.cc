#include "core/cuda/devices.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <string>

#include "core/cuda/cuda.h"
#include "core/cuda/status_cuda.h"

namespace densenet {
namespace {

// The oldest architecture the kernels are compiled for
// (CMAKE_CUDA_ARCHITECTURES in cmake/DensenetDependencies.cmake).
constexpr int kMinComputeMajor = 8;

std::string VersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// 0: no driver is loaded.
int DriverVersion() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) return 0;
  return version;
}

StatusOr<int> Attribute(int index, cudaDeviceAttr attribute) {
  int value = 0;
  RETURN_IF_ERROR(ToStatus(cudaDeviceGetAttribute(&value, attribute, index),
                           "cudaDeviceGetAttribute", "attribute=",
                           static_cast<int>(attribute), ", device=", index));
  return value;
}

StatusOr<CudaDeviceInfo> Describe(int index) {
  cudaDeviceProp properties;
  RETURN_IF_ERROR(ToStatus(cudaGetDeviceProperties(&properties, index),
                           "cudaGetDeviceProperties", "device=", index));
  ASSIGN_OR_RETURN(const int mode, Attribute(index, cudaDevAttrComputeMode));
  CudaDeviceInfo info;
  info.index = index;
  info.name = properties.name;
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.total_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  if (mode == cudaComputeModeProhibited) {
    info.problem = "its compute mode is Prohibited (nvidia-smi -c 0 lifts it)";
  } else if (properties.major < kMinComputeMajor) {
    info.problem = fmt::format(
        "its compute capability is {}.{}, the kernels need {}.0 or later",
        properties.major, properties.minor, kMinComputeMajor);
  }
  return info;
}

}  // namespace

StatusOr<int> CountCudaDevices() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return count;
  static_cast<void>(cudaGetLastError());
  if (code == cudaSuccess || code == cudaErrorNoDevice) {
    return Unavailable(
        "no CUDA device: the driver reports none (is CUDA_VISIBLE_DEVICES set "
        "to hide it?); use --device cpu");
  }
  const int driver = DriverVersion();
  if (code == cudaErrorInsufficientDriver && driver == 0) {
    return Unavailable(
        "no CUDA device: no NVIDIA driver is loaded (nvidia-smi should list "
        "the card); use --device cpu");
  }
  if (code == cudaErrorInsufficientDriver) {
    return Unavailable(fmt::format(
        "no CUDA device: the NVIDIA driver supports CUDA {}, this program "
        "needs {}: update the driver, or use --device cpu",
        VersionText(driver), VersionText(CUDART_VERSION)));
  }
  const Status status = ToStatus(code, "cudaGetDeviceCount");
  return Unavailable(fmt::format("no CUDA device: {}; use --device cpu",
                                 StdView(status.message())));
}

Status CheckUsable(Device device) {
  if (!device.is_cuda()) {
    return InvalidArgument(fmt::format(
        "{} is not a CUDA device: expected cuda:<index>", device.ToString()));
  }
  ASSIGN_OR_RETURN(const int count, CountCudaDevices());
  if (device.index < 0 || device.index >= count) {
    return Unavailable(fmt::format(
        "no device {}: this machine has {} CUDA device{}, the last is cuda:{}",
        device.ToString(), count, count == 1 ? "" : "s", count - 1));
  }
  ASSIGN_OR_RETURN(const CudaDeviceInfo info, Describe(device.index));
  if (!info.problem.empty()) {
    return Unavailable(fmt::format("{} ({}) cannot be used: {}",
                                   device.ToString(), info.name, info.problem));
  }
  return OkStatus();
}

Status MakeCurrent(Device device) {
  return ToStatus(cudaSetDevice(device.index), "cudaSetDevice",
                  "device=", device.index);
}

bool BuiltWithCuda() { return true; }

std::string CudaVersions() {
  int runtime = 0;
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  const int driver = DriverVersion();
  const int64_t cublas = static_cast<int64_t>(cublasLtGetVersion());
  const int64_t cudnn = static_cast<int64_t>(cudnnGetVersion());
  return fmt::format("cuda {}, driver {}, cublasLt {}.{}.{}, cudnn {}.{}.{}",
                     VersionText(runtime),
                     driver == 0 ? "none" : VersionText(driver), cublas / 10000,
                     cublas / 100 % 100, cublas % 100, cudnn / 10000,
                     cudnn / 100 % 100, cudnn % 100);
}

StatusOr<std::vector<CudaDeviceInfo>> ListCudaDevices() {
  ASSIGN_OR_RETURN(const int count, CountCudaDevices());
  std::vector<CudaDeviceInfo> devices;
  for (int index = 0; index < count; ++index) {
    ASSIGN_OR_RETURN(CudaDeviceInfo info, Describe(index));
    devices.push_back(std::move(info));
  }
  return devices;
}

StatusOr<CudaMemoryInfo> QueryCudaMemory(Device device) {
  RETURN_IF_ERROR(CheckUsable(device));
  RETURN_IF_ERROR(MakeCurrent(device));
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  RETURN_IF_ERROR(ToStatus(cudaMemGetInfo(&free_bytes, &total_bytes),
                           "cudaMemGetInfo", "device=", device.index));
  return CudaMemoryInfo{static_cast<int64_t>(free_bytes),
                        static_cast<int64_t>(total_bytes)};
}

}  // namespace densenet
