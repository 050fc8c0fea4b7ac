// core/ops/avg_pool_cpu.h
//
// The CPU backend of avg_pool.h; inputs are validated.

#ifndef DENSENET_CORE_OPS_AVG_POOL_CPU_H_
#define DENSENET_CORE_OPS_AVG_POOL_CPU_H_

#include "core/context.h"
#include "core/ops/avg_pool.h"
#include "core/ops/window.h"
#include "core/tensor.h"

namespace densenet {

void AvgPoolCpu(const Context& ctx, ConstTensorView x, const PoolParams& params,
                const WindowGeometry& geometry, AvgPoolDivisor divisor,
                TensorView y);
void AvgPoolBackwardCpu(const Context& ctx, ConstTensorView dy,
                        const PoolParams& params,
                        const WindowGeometry& geometry, AvgPoolDivisor divisor,
                        TensorView dx);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_AVG_POOL_CPU_H_
