#include "core/ops/views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace densenet {

StatusOr<Shape> ReshapedShape(const Shape& shape, const Shape& requested) {
  int inferred = -1;
  int64_t known = 1;
  for (int axis = 0; axis < requested.rank(); ++axis) {
    const int64_t dim = requested.dim(axis);
    if (dim == -1 && inferred >= 0) {
      return InvalidArgument(fmt::format(
          "Reshape: to {} has more than one -1; only one extent can be "
          "inferred, give the others",
          requested.ToString()));
    }
    if (dim < -1 || (dim >= 0 && __builtin_mul_overflow(known, dim, &known))) {
      return InvalidArgument(fmt::format(
          "Reshape: to {} has an extent below -1 or too many elements",
          requested.ToString()));
    }
    if (dim == -1) inferred = axis;
  }
  Shape result = requested;
  if (inferred >= 0) {
    if (known == 0 || shape.elems() % known != 0) {
      return InvalidArgument(fmt::format(
          "Reshape: x {} has {} elements, not a multiple of the {} of to {} "
          "without its -1",
          shape.ToString(), shape.elems(), known, requested.ToString()));
    }
    result.set_dim(inferred, shape.elems() / known);
  } else if (known != shape.elems()) {
    return InvalidArgument(fmt::format(
        "Reshape: x {} has {} elements, to {} has {}", shape.ToString(),
        shape.elems(), requested.ToString(), known));
  }
  return result;
}

StatusOr<ConstTensorView> ReshapeView(ConstTensorView x,
                                      const Shape& requested) {
  ASSIGN_OR_RETURN(const Shape shape, ReshapedShape(x.shape(), requested));
  if (!x.IsPacked()) {
    return InvalidArgument(fmt::format(
        "Reshape: x {} with strides {} is not packed; Copy it first",
        x.shape().ToString(), x.strides().ToString()));
  }
  return x.Reshaped(shape);
}

StatusOr<ConstTensorView> SliceView(ConstTensorView x, const Shape& begin,
                                    const Shape& size) {
  if (begin.rank() != x.rank() || size.rank() != x.rank()) {
    return InvalidArgument(fmt::format(
        "Slice: begin {} and size {} of x {}: expected one value for each of "
        "its {} axes",
        begin.ToString(), size.ToString(), x.shape().ToString(), x.rank()));
  }
  ConstTensorView y = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int64_t dim = x.dim(axis);
    const int64_t from = begin.dim(axis);
    const int64_t count = size.dim(axis) == -1 ? dim - from : size.dim(axis);
    if (from < 0 || count < 0 || from > dim || count > dim - from) {
      return InvalidArgument(fmt::format(
          "Slice: begin {} and size {} leave axis {} of x {}: expected 0 <= "
          "begin <= begin + size <= {}",
          begin.ToString(), size.ToString(), axis, x.shape().ToString(), dim));
    }
    y = y.Slice(axis, from, from + count);
  }
  return y;
}

StatusOr<ConstTensorView> TransposeView(ConstTensorView x,
                                        absl::Span<const int> permutation) {
  Shape shape, strides;
  unsigned seen = 0;
  bool valid = static_cast<int>(permutation.size()) == x.rank();
  for (size_t i = 0; valid && i < permutation.size(); ++i) {
    const int axis = permutation[i];
    valid = axis >= 0 && axis < x.rank() && (seen >> axis & 1u) == 0;
    if (!valid) break;
    seen |= 1u << axis;
    shape.Append(x.dim(axis));
    strides.Append(x.stride(axis));
  }
  if (!valid) {
    return InvalidArgument(fmt::format(
        "Transpose: ({}) is not a permutation of the {} axes of x {}",
        fmt::join(permutation.begin(), permutation.end(), ", "), x.rank(),
        x.shape().ToString()));
  }
  return ConstTensorView(x.raw(), x.dtype(), shape, strides, x.device());
}

}  // namespace densenet
