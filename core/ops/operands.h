// core/ops/operands.h
//
// The checks of operations that take any strides or types, worded as those of
// checks.h. `op` and `name` are those of the message: "Softmax: x is float64
// (2, 3), must be float32".

#ifndef DENSENET_CORE_OPS_OPERANDS_H_
#define DENSENET_CORE_OPS_OPERANDS_H_

#include <initializer_list>
#include <string_view>

#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

struct Operand {
  std::string_view name;
  ConstTensorView view;
};

// Errors  InvalidArgument  an operand is not of `dtype`
//         InvalidArgument  an operand is not on the device of ctx
Status CheckOperands(const Context& ctx, std::string_view op, DType dtype,
                     std::initializer_list<Operand> operands);

// The same for float32 views of rows (..., C) at equal distances.
// Errors  InvalidArgument  also rank 0, or not row-strided
Status CheckRowOperands(const Context& ctx, std::string_view op,
                        std::initializer_list<Operand> operands);

// Errors  InvalidArgument  view does not have this shape
Status CheckShape(std::string_view op, const Operand& operand,
                  const Shape& expected);

// For operations without a CUDA kernel.
// Errors  Unimplemented  ctx is not on the CPU
Status CheckCpu(const Context& ctx, std::string_view op);

// `axis` counted from the front.
// Errors  InvalidArgument  not in [-rank, rank)
StatusOr<int> ResolveAxis(std::string_view op, int axis, int rank);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_OPERANDS_H_
