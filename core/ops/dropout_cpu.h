// core/ops/dropout_cpu.h
//
// The CPU code of core/ops/dropout.h; dropout.cc validates. rate > 0.

#ifndef DENSENET_CORE_OPS_DROPOUT_CPU_H_
#define DENSENET_CORE_OPS_DROPOUT_CPU_H_

#include "core/context.h"
#include "core/ops/dropout.h"
#include "core/random.h"
#include "core/tensor.h"

namespace densenet {

void DropoutCpu(const Context& ctx, ConstTensorView x, const DropoutMask& mask,
                const RandomKey& key, TensorView y);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_DROPOUT_CPU_H_
