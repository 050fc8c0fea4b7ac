// core/cpu/gemm_portable.h
//
// The loop that core/cpu/gemm.h runs where libxsmm has no kernel: Highway
// vectors along n, one chain of multiply-adds per element, over i then k.
//
// Shapes    as BatchGemm; transpose_a is allowed
// Threads   safe

#ifndef DENSENET_CORE_CPU_GEMM_PORTABLE_H_
#define DENSENET_CORE_CPU_GEMM_PORTABLE_H_

#include <cstdint>

#include "core/cpu/gemm.h"

namespace densenet {

void GemmPortable(const GemmShape& shape, const float* const* a,
                  const float* const* b, float* c, int64_t count);

}  // namespace densenet

#endif  // DENSENET_CORE_CPU_GEMM_PORTABLE_H_
