#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/context.h"
#include "core/cuda/cuda.h"
#include "core/cuda/cuda_state.h"
#include "core/cuda/devices.h"
#include "core/cuda/status_cuda.h"

namespace densenet {
namespace {

Status CheckCopy(const Context& ctx, ConstTensorView x, ConstTensorView y) {
  if (x.shape() != y.shape() || x.dtype() != y.dtype()) {
    return InvalidArgument(
        fmt::format("CopyBetweenDevices: x is {}, y is {}: must be equal",
                    x.ToString(), y.ToString()));
  }
  if (!x.IsRowStrided() || !y.IsRowStrided()) {
    return InvalidArgument(fmt::format(
        "CopyBetweenDevices: {} of strides {} is not made of equally spaced "
        "rows",
        x.IsRowStrided() ? "y" : "x",
        (x.IsRowStrided() ? y : x).strides().ToString()));
  }
  const Device card = ctx.device();
  const bool up = x.device().is_cpu() && y.device() == card;
  const bool down = x.device() == card && y.device().is_cpu();
  if (!card.is_cuda() || up == down) {
    return InvalidArgument(fmt::format(
        "CopyBetweenDevices: x is on {}, y on {}, the context on {}: expected "
        "one on the cpu and the other on the context's card",
        x.device().ToString(), y.device().ToString(), card.ToString()));
  }
  return OkStatus();
}

}  // namespace

Status CopyBetweenDevices(const Context& ctx, ConstTensorView x, TensorView y) {
  RETURN_IF_ERROR(CheckCopy(ctx, x, y));
  if (x.elems() == 0) return OkStatus();
  CudaState& cuda = ctx.cuda();
  RETURN_IF_ERROR(MakeCurrent(cuda.device()));
  cuda.set_last_op("CopyBetweenDevices");
  const int64_t size = SizeOf(x.dtype());
  const int64_t rows = x.rows();
  const int64_t width = x.elems() / rows * size;
  const cudaMemcpyKind kind =
      x.device().is_cpu() ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  const bool one_run = x.IsPacked() && y.IsPacked();
  const cudaError_t code =
      one_run
          ? cudaMemcpyAsync(y.raw(), x.raw(), rows * width, kind, cuda.stream())
          : cudaMemcpy2DAsync(y.raw(), y.row_stride() * size, x.raw(),
                              x.row_stride() * size, width, rows, kind,
                              cuda.stream());
  if (Succeeded(code)) return OkStatus();
  return ToStatus(code, one_run ? "cudaMemcpyAsync" : "cudaMemcpy2DAsync",
                  cuda.Where("CopyBetweenDevices"), ", ", rows, " rows of ",
                  width, " bytes");
}

}  // namespace densenet
