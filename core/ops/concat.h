// core/ops/concat.h
//
// Joins tensors along an axis by copying: the plain form for losses, heads and
// experiments. A dense block never calls it, its layers share one buffer.
//
// Shapes    xs[i] equal in all axes but `axis` -> y, whose `axis` is their sum;
//           any strides
// Types     any, all equal
// Memory    scratch: 0 bytes; y must not overlap an input
// Stream    CPU; Unimplemented elsewhere
// Errors    InvalidArgument  xs is empty; shapes or types differ; no such axis
// Numerics  bit-exact
// Threads   safe for different Contexts

#ifndef DENSENET_CORE_OPS_CONCAT_H_
#define DENSENET_CORE_OPS_CONCAT_H_

#include "absl/types/span.h"
#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status Concat(const Context& ctx, absl::Span<const ConstTensorView> xs,
              int axis, TensorView y);

// The shape of y; `axis` in [-rank, rank).
StatusOr<Shape> ConcatShape(absl::Span<const Shape> xs, int axis);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_CONCAT_H_
