// core/cpu/gemm_rate.h
//
// The machine's own speed limit for comparison: the rate of a matrix product
// whose operands stay in the L1 cache, on all threads at once.

#ifndef DENSENET_CORE_CPU_GEMM_RATE_H_
#define DENSENET_CORE_CPU_GEMM_RATE_H_

#include "core/context.h"

namespace densenet {

// GFLOP/s (2 per multiply-add) over about `seconds`, all threads together.
double MeasureGemmRate(const Context& ctx, double seconds);

}  // namespace densenet

#endif  // DENSENET_CORE_CPU_GEMM_RATE_H_
