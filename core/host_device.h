// core/host_device.h
//
// Marks functions that the CPU path and the CUDA kernels both call, so that
// the CPU tests cover the arithmetic of the kernels.

#ifndef DENSENET_CORE_HOST_DEVICE_H_
#define DENSENET_CORE_HOST_DEVICE_H_

#ifdef __CUDACC__
#define DENSENET_HOST_DEVICE __host__ __device__
#else
#define DENSENET_HOST_DEVICE
#endif

#endif  // DENSENET_CORE_HOST_DEVICE_H_
