#include "core/ops/copy_cpu.h"

#include <cstring>

#include "core/ops/strided_loop.h"

namespace densenet {
namespace {

// T stands for any type of its size; memcpy, since it is not that type.
template <typename T>
void CopyElements(const Context& ctx, ConstTensorView x, TensorView y) {
  const char* px = static_cast<const char*>(x.raw());
  char* py = static_cast<char*>(y.raw());
  constexpr int64_t kBytes = sizeof(T);
  const StridedLoop<2> loop(y.shape(), {x.strides(), y.strides()});
  const int64_t x_step = loop.inner_stride(0) * kBytes;
  const int64_t y_step = loop.inner_stride(1) * kBytes;
  loop.ForEachRun(ctx.threads(), [&](const auto& at, int64_t count, int64_t) {
    const char* from = px + at[0] * kBytes;
    char* to = py + at[1] * kBytes;
    if (x_step == kBytes && y_step == kBytes) {
      std::memcpy(to, from, count * kBytes);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * y_step, from + i * x_step, kBytes);
      }
    }
  });
}

}  // namespace

void CopyCpu(const Context& ctx, ConstTensorView x, TensorView y) {
  switch (SizeOf(y.dtype())) {
    case 1:
      return CopyElements<uint8_t>(ctx, x, y);
    case 2:
      return CopyElements<uint16_t>(ctx, x, y);
    case 4:
      return CopyElements<uint32_t>(ctx, x, y);
    default:
      return CopyElements<uint64_t>(ctx, x, y);
  }
}

}  // namespace densenet
