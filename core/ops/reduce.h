// core/ops/reduce.h
//
// y = sum or mean of x over some axes; the 2-norm of all elements.
//
// Shapes    x any -> y: x without the reduced axes, or with them as 1. No axes
//           given: all of them. x any strides, y packed.
// Types     float32
// Memory    scratch: 0 bytes; y must not overlap x
// Stream    CPU; Unimplemented elsewhere
// Errors    InvalidArgument  an axis that x lacks or that is given twice; y of
//                            another shape; a mean of no elements
// Numerics  float64 sums over fixed chunks in a fixed order, rounded once;
//           bitwise equal for every thread count
// Threads   safe for different Contexts

#ifndef DENSENET_CORE_OPS_REDUCE_H_
#define DENSENET_CORE_OPS_REDUCE_H_

#include <string_view>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status ReduceSum(const Context& ctx, ConstTensorView x,
                 absl::Span<const int> axes, TensorView y);
Status ReduceMean(const Context& ctx, ConstTensorView x,
                  absl::Span<const int> axes, TensorView y);
// sqrt(sum x^2); y is ().
Status L2Norm(const Context& ctx, ConstTensorView x, TensorView y);

// dx = dy * x / y, and 0 where x is 0 everywhere (y = 0).
Status L2NormBackward(const Context& ctx, ConstTensorView x, ConstTensorView y,
                      ConstTensorView dy, TensorView dx);

// The shape of y. Axes in [-rank, rank).
StatusOr<Shape> ReducedShape(std::string_view op, const Shape& x,
                             absl::Span<const int> axes, bool keep_axes);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_REDUCE_H_
