// core/ops/max_pool_cpu.h
//
// The CPU backend of max_pool.h; inputs are validated.

#ifndef DENSENET_CORE_OPS_MAX_POOL_CPU_H_
#define DENSENET_CORE_OPS_MAX_POOL_CPU_H_

#include "core/context.h"
#include "core/ops/window.h"
#include "core/tensor.h"

namespace densenet {

void MaxPoolCpu(const Context& ctx, ConstTensorView x, const PoolParams& params,
                const WindowGeometry& geometry, TensorView y);
void MaxPoolBackwardCpu(const Context& ctx, ConstTensorView x,
                        ConstTensorView dy, const PoolParams& params,
                        const WindowGeometry& geometry, TensorView dx);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_MAX_POOL_CPU_H_
