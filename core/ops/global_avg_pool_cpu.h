// core/ops/global_avg_pool_cpu.h
//
// The CPU backend of global_avg_pool.h; inputs are validated.

#ifndef DENSENET_CORE_OPS_GLOBAL_AVG_POOL_CPU_H_
#define DENSENET_CORE_OPS_GLOBAL_AVG_POOL_CPU_H_

#include "core/context.h"
#include "core/tensor.h"

namespace densenet {

void GlobalAvgPoolCpu(const Context& ctx, ConstTensorView x, TensorView y);
void GlobalAvgPoolBackwardCpu(const Context& ctx, ConstTensorView dy,
                              TensorView dx);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_GLOBAL_AVG_POOL_CPU_H_
