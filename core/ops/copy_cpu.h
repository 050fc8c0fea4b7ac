// core/ops/copy_cpu.h
//
// The CPU code of core/ops/copy.h; copy.cc validates: x already has the shape
// of y.

#ifndef DENSENET_CORE_OPS_COPY_CPU_H_
#define DENSENET_CORE_OPS_COPY_CPU_H_

#include "core/context.h"
#include "core/tensor.h"

namespace densenet {

void CopyCpu(const Context& ctx, ConstTensorView x, TensorView y);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_COPY_CPU_H_
