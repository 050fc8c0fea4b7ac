// core/ops/views.h
//
// Other views of the same elements: reshaped, sliced, transposed. Nothing is
// computed or copied; Copy (core/ops/copy.h) packs a view where that is needed.
//
// Shapes    as each function says
// Types     any
// Memory    scratch: 0 bytes; the result points into x
// Stream    none; any device
// Errors    InvalidArgument  as each function says; the message names the op
// Numerics  exact
// Threads   safe

#ifndef DENSENET_CORE_OPS_VIEWS_H_
#define DENSENET_CORE_OPS_VIEWS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

// `requested` with its one -1, if any, replaced by what makes the number of
// elements that of `shape`.
// Errors  more than one -1; an extent below -1; another number of elements
StatusOr<Shape> ReshapedShape(const Shape& shape, const Shape& requested);

// Errors  as ReshapedShape; x is not packed
StatusOr<ConstTensorView> ReshapeView(ConstTensorView x,
                                      const Shape& requested);

// The elements [begin[a], begin[a] + size[a]) of every axis a; a size of -1
// reaches to the end of the axis.
// Errors  begin or size have another rank; a range outside the axis
StatusOr<ConstTensorView> SliceView(ConstTensorView x, const Shape& begin,
                                    const Shape& size);

// Axis a of the result is axis permutation[a] of x.
// Errors  not a permutation of 0 .. rank - 1
StatusOr<ConstTensorView> TransposeView(ConstTensorView x,
                                        absl::Span<const int> permutation);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_VIEWS_H_
