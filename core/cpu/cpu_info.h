// core/cpu/cpu_info.h
//
// What the CPU backend runs on.
//
// Threads  safe

#ifndef DENSENET_CORE_CPU_CPU_INFO_H_
#define DENSENET_CORE_CPU_CPU_INFO_H_

#include <cstdint>
#include <string>

namespace densenet {

struct CpuInfo {
  std::string model;  // "AMD EPYC 9654 96-Core Processor"; "unknown"
  int usable_cpus = 0;
  // Of the machine, or of the control group (a container) where that is less;
  // 0: unknown.
  int64_t total_bytes = 0;
  int64_t available_bytes = 0;
  // The instruction set of the element-wise kernels (Highway: "AVX2") and of
  // the matrix products (libxsmm: "hsw").
  std::string simd;
  std::string gemm;
  // "oneDNN 2.7.2, libxsmm 1.17, Highway 1.0.3"
  std::string libraries;
};

CpuInfo GetCpuInfo();

}  // namespace densenet

#endif  // DENSENET_CORE_CPU_CPU_INFO_H_
