// tests/support/test_tensor.h
//
// Small tensors for tests: filled from an explicit seed, packed or as a
// strided view with poisoned gaps.

#ifndef DENSENET_TESTS_SUPPORT_TEST_TENSOR_H_
#define DENSENET_TESTS_SUPPORT_TEST_TENSOR_H_

#include <cstdint>
#include <vector>

#include "core/shape.h"
#include "core/tensor.h"

namespace densenet::testing {

// Owns a float32 tensor (N, ..., C) whose innermost rows are `gap` elements
// further apart than packed. Gaps hold NaN; GapsUntouched() says whether they
// still do, so a write or a read outside the view shows.
class TestTensor {
 public:
  explicit TestTensor(const Shape& shape, int64_t gap = 0);
  // Uniform in [-1, 1) from the counter-based stream `seed`.
  static TestTensor Random(const Shape& shape, uint64_t seed, int64_t gap = 0);
  static TestTensor FromVector(const Shape& shape,
                               const std::vector<double>& values,
                               int64_t gap = 0);

  TensorView view();
  ConstTensorView view() const;
  ConstTensorView const_view() const { return view(); }
  // Everything it holds, gaps too, as one vector; to copy between devices.
  TensorView storage();
  // Element i in row-major order of the shape, ignoring gaps.
  float& at(int64_t i);
  float at(int64_t i) const;
  int64_t elems() const { return shape_.elems(); }
  const Shape& shape() const { return shape_; }
  std::vector<double> ToDoubles() const;
  bool GapsUntouched() const;

 private:
  int64_t Offset(int64_t i) const;
  Shape Strides() const;

  Shape shape_;
  int64_t gap_;
  std::vector<float> storage_;
};

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_TEST_TENSOR_H_
