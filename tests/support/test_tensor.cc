#include "tests/support/test_tensor.h"

#include <cmath>
#include <limits>

#include "core/random.h"

namespace densenet::testing {
namespace {

int64_t RowWidth(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape.dim(-1);
}

}  // namespace

TestTensor::TestTensor(const Shape& shape, int64_t gap)
    : shape_(shape), gap_(gap) {
  const int64_t width = RowWidth(shape);
  const int64_t rows = width == 0 ? 0 : shape.elems() / width;
  storage_.assign(rows * (width + gap),
                  std::numeric_limits<float>::quiet_NaN());
  for (int64_t i = 0; i < elems(); ++i) at(i) = 0;
}

TestTensor TestTensor::Random(const Shape& shape, uint64_t seed, int64_t gap) {
  TestTensor tensor(shape, gap);
  const RandomKey key{seed, 0, 0};
  for (int64_t i = 0; i < tensor.elems(); ++i) {
    tensor.at(i) = 2 * UniformFloat(RandomBits(key, i)) - 1;
  }
  return tensor;
}

TestTensor TestTensor::FromVector(const Shape& shape,
                                  const std::vector<double>& values,
                                  int64_t gap) {
  TestTensor tensor(shape, gap);
  CHECK_EQ(static_cast<int64_t>(values.size()), tensor.elems());
  for (int64_t i = 0; i < tensor.elems(); ++i) {
    tensor.at(i) = static_cast<float>(values[i]);
  }
  return tensor;
}

int64_t TestTensor::Offset(int64_t i) const {
  const int64_t width = RowWidth(shape_);
  return i / width * (width + gap_) + i % width;
}

Shape TestTensor::Strides() const {
  Shape strides = PackedStrides(shape_);
  int64_t stride = RowWidth(shape_) + gap_;
  for (int axis = shape_.rank() - 2; axis >= 0; --axis) {
    strides.set_dim(axis, stride);
    stride *= shape_.dim(axis);
  }
  return strides;
}

TensorView TestTensor::view() {
  return TensorView(storage_.data(), DType::kFloat32, shape_, Strides());
}

ConstTensorView TestTensor::view() const {
  return ConstTensorView(storage_.data(), DType::kFloat32, shape_, Strides());
}

TensorView TestTensor::storage() {
  return TensorView(storage_.data(), DType::kFloat32,
                    {static_cast<int64_t>(storage_.size())});
}

float& TestTensor::at(int64_t i) { return storage_[Offset(i)]; }
float TestTensor::at(int64_t i) const { return storage_[Offset(i)]; }

std::vector<double> TestTensor::ToDoubles() const {
  std::vector<double> values(elems());
  for (int64_t i = 0; i < elems(); ++i) values[i] = at(i);
  return values;
}

bool TestTensor::GapsUntouched() const {
  const int64_t width = RowWidth(shape_);
  for (size_t i = 0; i < storage_.size(); ++i) {
    const bool gap = static_cast<int64_t>(i) % (width + gap_) >= width;
    if (gap && !std::isnan(storage_[i])) return false;
  }
  return true;
}

}  // namespace densenet::testing
