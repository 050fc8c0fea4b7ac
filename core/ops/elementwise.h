// core/ops/elementwise.h
//
// y = a + b, a - b, a * b, -x, x * factor, element by element.
//
// Shapes    a and b broadcast as in NumPy: aligned at the innermost axis, an
//           extent of 1 or a missing outer axis repeats. So a bias (C) adds to
//           (N, H, W, C) and a scalar () to anything. y has the joint shape.
//           Any strides.
// Types     float32
// Memory    scratch: 0 bytes; y may be a or b itself where the shapes agree,
//           and must not overlap them otherwise
// Stream    enqueues on ctx's stream; never synchronizes
// Errors    InvalidArgument  shapes do not broadcast; y has another shape;
//                            another type or device
//           Unimplemented    a CUDA context in a build without CUDA
// Numerics  one rounding per element; bitwise equal for every thread count
// Threads   safe for different Contexts

#ifndef DENSENET_CORE_OPS_ELEMENTWISE_H_
#define DENSENET_CORE_OPS_ELEMENTWISE_H_

#include <string_view>

#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status Add(const Context& ctx, ConstTensorView a, ConstTensorView b,
           TensorView y);
Status Subtract(const Context& ctx, ConstTensorView a, ConstTensorView b,
                TensorView y);
Status Multiply(const Context& ctx, ConstTensorView a, ConstTensorView b,
                TensorView y);
Status Negate(const Context& ctx, ConstTensorView x, TensorView y);
Status Scale(const Context& ctx, ConstTensorView x, float factor, TensorView y);

// The joint shape of operands of `op`.
// Errors  InvalidArgument  names both shapes
StatusOr<Shape> BroadcastShape(std::string_view op, const Shape& a,
                               const Shape& b);

// x repeated along broadcast axes by strides of 0; nothing is copied.
// CHECKs that x broadcasts to `shape`.
ConstTensorView BroadcastView(ConstTensorView x, const Shape& shape);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_ELEMENTWISE_H_
