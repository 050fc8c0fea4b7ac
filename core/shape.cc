#include "core/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>

namespace densenet {

Shape::Shape(absl::Span<const int64_t> dims) {
  CHECK_LE(dims.size(), static_cast<size_t>(kMaxRank));
  for (int64_t d : dims) dims_[rank_++] = d;
}

int64_t Shape::dim(int axis) const {
  if (axis < 0) axis += rank_;
  CHECK(axis >= 0 && axis < rank_) << "axis " << axis << " of " << ToString();
  return dims_[axis];
}

void Shape::set_dim(int axis, int64_t value) {
  if (axis < 0) axis += rank_;
  CHECK(axis >= 0 && axis < rank_) << "axis " << axis << " of " << ToString();
  dims_[axis] = value;
}

int64_t Shape::elems() const {
  int64_t product = 1;
  for (int64_t d : dims()) {
    CHECK(!__builtin_mul_overflow(product, d, &product))
        << ToString() << " has more elements than int64 counts";
  }
  return product;
}

void Shape::Append(int64_t value) {
  CHECK_LT(rank_, kMaxRank);
  dims_[rank_++] = value;
}

std::string Shape::ToString() const {
  return fmt::format("({})",
                     fmt::join(dims_.begin(), dims_.begin() + rank_, ", "));
}

Shape PackedStrides(const Shape& shape) {
  Shape strides = shape;
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides.set_dim(axis, stride);
    CHECK(!__builtin_mul_overflow(stride, shape.dim(axis), &stride))
        << shape.ToString() << " has more elements than int64 counts";
  }
  return strides;
}

}  // namespace densenet
