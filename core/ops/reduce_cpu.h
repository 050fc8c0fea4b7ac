// core/ops/reduce_cpu.h
//
// The CPU code of core/ops/reduce.h; reduce.cc validates. reduced[a] says
// whether axis a is summed; y holds the sums in row-major order of the other
// axes.

#ifndef DENSENET_CORE_OPS_REDUCE_CPU_H_
#define DENSENET_CORE_OPS_REDUCE_CPU_H_

#include "absl/types/span.h"
#include "core/context.h"
#include "core/tensor.h"

namespace densenet {

enum class ReduceOp { kSum, kMean, kNorm };
void ReduceCpu(const Context& ctx, ReduceOp op, ConstTensorView x,
               absl::Span<const bool> reduced, float* y);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_REDUCE_CPU_H_
