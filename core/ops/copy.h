// core/ops/copy.h
//
// y = x, between any strides; and y = value everywhere.
//
// Shapes    x broadcasts to the shape of y (see elementwise.h)
// Types     any for Copy, equal; float32 for Fill
// Memory    scratch: 0 bytes; x and y must not overlap
// Stream    CPU; Unimplemented elsewhere
// Errors    InvalidArgument  x does not broadcast to y; types differ; another
//                            device
// Numerics  bit-exact
// Threads   safe for different Contexts

#ifndef DENSENET_CORE_OPS_COPY_H_
#define DENSENET_CORE_OPS_COPY_H_

#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status Copy(const Context& ctx, ConstTensorView x, TensorView y);
Status Fill(const Context& ctx, float value, TensorView y);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_COPY_H_
