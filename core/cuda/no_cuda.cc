#include "core/context.h"
#include "core/cuda/cuda.h"

namespace densenet {
namespace {

Status NoCuda() {
  return Unimplemented(
      "this program was built without CUDA: build the `release` preset where "
      "the CUDA toolkit is installed, or use --device cpu");
}

}  // namespace

bool BuiltWithCuda() { return false; }
std::string CudaVersions() { return "built without CUDA"; }
StatusOr<std::vector<CudaDeviceInfo>> ListCudaDevices() { return NoCuda(); }
StatusOr<CudaMemoryInfo> QueryCudaMemory(Device) { return NoCuda(); }
StatusOr<std::shared_ptr<CudaState>> CreateCudaState(Device) {
  return NoCuda();
}
StatusOr<std::unique_ptr<MemoryResource>> CreateCudaMemory(Device, int64_t) {
  return NoCuda();
}
StatusOr<std::unique_ptr<MemoryResource>> CreatePinnedMemory(Device, int64_t) {
  return NoCuda();
}
// No Context is on a card: nothing is ever pending.
Status Synchronize(const Context&) { return OkStatus(); }
Status CopyBetweenDevices(const Context&, ConstTensorView, TensorView) {
  return NoCuda();
}

}  // namespace densenet
