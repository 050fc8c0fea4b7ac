// core/cuda/launch.h
//
// The one way kernels are launched: on the stream of a Context, inside an NVTX
// range named after the op, with a Status.
//
//   return Launch(ctx, {.op = "AffineRelu",
//                       .grid = BlocksFor(ctx, elems, kBlock),
//                       .block = kBlock},
//                 AffineReluKernel, args);
//
// Stream   enqueues on ctx.cuda().stream(); synchronizes only when the Context
//          has synchronize_launches, to report a fault where it happens
// Errors   Internal and the like, with op, stream, grid and block; a sticky
//          fault ends the process (core/cuda/status_cuda.h)

#ifndef DENSENET_CORE_CUDA_LAUNCH_H_
#define DENSENET_CORE_CUDA_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "core/context.h"
#include "core/status.h"

namespace densenet {

struct LaunchConfig {
  const char* op = nullptr;  // a literal; names the NVTX range and errors
  dim3 grid;
  int block = 0;  // threads
  int64_t shared_bytes = 0;
};

// Blocks of `block` threads for a grid-stride loop over `items`: enough to
// fill the card, at most one thread an item. 0 when there are none.
dim3 BlocksFor(const Context& ctx, int64_t items, int block);

// `args` points at one pointer per kernel parameter. A grid without blocks
// launches nothing.
Status LaunchKernel(const Context& ctx, const LaunchConfig& config,
                    const void* kernel, void** args);

// Converts `args` to the kernel's parameters, as a call would.
template <typename... Params, typename... Args>
Status Launch(const Context& ctx, const LaunchConfig& config,
              void (*kernel)(Params...), const Args&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args));
  std::tuple<std::remove_cv_t<Params>...> values(args...);
  return std::apply(
      [&](auto&... value) {
        void* pointers[] = {static_cast<void*>(&value)...};
        return LaunchKernel(ctx, config, reinterpret_cast<const void*>(kernel),
                            pointers);
      },
      values);
}

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_LAUNCH_H_
