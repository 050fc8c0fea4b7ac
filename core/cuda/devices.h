// core/cuda/devices.h
//
// Finding and choosing a card. The CUDA runtime keeps a current device per
// thread, and making one current gives it a context (hundreds of MiB on the
// card), so:
//   - only devices that were asked for by name are ever made current;
//   - everything that allocates, launches or creates a handle makes its device
//     current first and leaves it so: putting the former one back would give
//     that one a context. Nothing relies on the current device it found.

#ifndef DENSENET_CORE_CUDA_DEVICES_H_
#define DENSENET_CORE_CUDA_DEVICES_H_

#include <cstdint>

#include "core/device.h"
#include "core/status.h"

namespace densenet {

// Devices of this machine; never 0. Creates no context.
// Errors  Unavailable  no driver, one too old, or no device: says which
StatusOr<int> CountCudaDevices();

// OK when `device` is a CUDA device of this machine that our kernels run on.
// Creates no context.
// Errors  InvalidArgument  not a CUDA device
//         Unavailable      no such device, or why it cannot be used
Status CheckUsable(Device device);

// Makes `device` current in the calling thread.
Status MakeCurrent(Device device);

}  // namespace densenet

#endif  // DENSENET_CORE_CUDA_DEVICES_H_
