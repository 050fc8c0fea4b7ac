// core/shape.h
//
// The extents of a tensor, outermost first. Activations are (N, H, W, C),
// filters (R, S, C, K), matrices (rows, columns). Rank 0 is one element.

#ifndef DENSENET_CORE_SHAPE_H_
#define DENSENET_CORE_SHAPE_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>

#include "absl/types/span.h"

namespace densenet {

inline constexpr int kMaxRank = 6;

// Up to kMaxRank int64 values, held inline; also used for strides.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims)  // NOLINT: reads as (N, H, W, C)
      : Shape(absl::MakeConstSpan(dims.begin(), dims.size())) {}
  explicit Shape(absl::Span<const int64_t> dims);

  int rank() const { return rank_; }
  // `axis` in [-rank, rank): -1 is the innermost.
  int64_t dim(int axis) const;
  void set_dim(int axis, int64_t value);
  int64_t operator[](int axis) const { return dim(axis); }
  // The product of all extents; 1 for rank 0. CHECKs that it fits int64.
  int64_t elems() const;
  absl::Span<const int64_t> dims() const {
    return absl::MakeConstSpan(dims_.data(), rank_);
  }
  void Append(int64_t value);

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.dims() == b.dims();
  }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

  // "(64, 32, 32, 24)"
  std::string ToString() const;
  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << shape.ToString();
  }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// Element strides of a packed row-major tensor of this shape.
Shape PackedStrides(const Shape& shape);

}  // namespace densenet

#endif  // DENSENET_CORE_SHAPE_H_
