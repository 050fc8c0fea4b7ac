#include "core/cuda/launch.h"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include "core/cuda/cuda_state.h"
#include "core/cuda/devices.h"
#include "core/cuda/grid.h"
#include "core/cuda/status_cuda.h"

namespace densenet {
namespace {

// What a kernel may use without asking (CUDA C++ programming guide).
constexpr int64_t kDefaultSharedBytes = 48 << 10;

class NvtxRange {
 public:
  explicit NvtxRange(const char* name) { nvtxRangePushA(name); }
  ~NvtxRange() { nvtxRangePop(); }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

std::string Describe(const CudaState& cuda, const LaunchConfig& config) {
  return fmt::format("{}, grid=({}, {}, {}), block={}, shared={} bytes",
                     cuda.Where(config.op), config.grid.x, config.grid.y,
                     config.grid.z, config.block, config.shared_bytes);
}

}  // namespace

dim3 BlocksFor(const Context& ctx, int64_t items, int block) {
  return dim3(static_cast<unsigned>(
      GridStrideBlocks(items, block, ctx.cuda().multiprocessors())));
}

Status LaunchKernel(const Context& ctx, const LaunchConfig& config,
                    const void* kernel, void** args) {
  if (config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0) {
    return OkStatus();
  }
  CudaState& cuda = ctx.cuda();
  RETURN_IF_ERROR(MakeCurrent(cuda.device()));
  const NvtxRange range(config.op);
  if (config.shared_bytes > kDefaultSharedBytes) {
    const cudaError_t code = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
        static_cast<int>(config.shared_bytes));
    if (!Succeeded(code)) {
      return ToStatus(code, "cudaFuncSetAttribute", Describe(cuda, config));
    }
  }
  cuda.set_last_op(config.op);
  const cudaError_t code =
      cudaLaunchKernel(kernel, config.grid, dim3(config.block), args,
                       static_cast<size_t>(config.shared_bytes), cuda.stream());
  if (!Succeeded(code)) {
    return ToStatus(code, "cudaLaunchKernel", Describe(cuda, config));
  }
  return ctx.synchronize_launches() ? cuda.Synchronize() : OkStatus();
}

}  // namespace densenet
