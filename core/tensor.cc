#include "core/tensor.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace densenet {

template <bool kConst>
bool BasicTensorView<kConst>::IsPacked() const {
  int64_t expected = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (dim(axis) != 1 && stride(axis) != expected) return false;
    expected *= dim(axis);
  }
  return true;
}

template <bool kConst>
bool BasicTensorView<kConst>::IsRowStrided() const {
  if (rank() == 0) return true;
  if (dim(-1) != 1 && stride(-1) != 1) return false;
  const int64_t row = row_stride();
  if (row < dim(-1) && rows() > 1) return false;
  int64_t expected = row;
  for (int axis = rank() - 2; axis >= 0; --axis) {
    if (dim(axis) != 1 && stride(axis) != expected) return false;
    expected *= dim(axis);
  }
  return true;
}

template <bool kConst>
int64_t BasicTensorView<kConst>::rows() const {
  int64_t rows = 1;
  for (int axis = rank() - 2; axis >= 0; --axis) rows *= dim(axis);
  return rows;
}

template <bool kConst>
int64_t BasicTensorView<kConst>::row_stride() const {
  for (int axis = rank() - 2; axis >= 0; --axis) {
    if (dim(axis) != 1) {
      // Axes inside `axis` have extent 1, so its stride is that of a row.
      return stride(axis);
    }
  }
  return rank() == 0 ? 1 : dim(-1);
}

template <bool kConst>
BasicTensorView<kConst> BasicTensorView<kConst>::Slice(int axis, int64_t begin,
                                                       int64_t end) const {
  if (axis < 0) axis += rank();
  CHECK(0 <= begin && begin <= end && end <= dim(axis))
      << "slice [" << begin << ", " << end << ") of axis " << axis << " of "
      << ToString();
  Shape shape = shape_;
  shape.set_dim(axis, end - begin);
  // No arithmetic on null: it is undefined.
  const int64_t offset_bytes =
      data_ == nullptr ? 0 : begin * stride(axis) * SizeOf(dtype_);
  using Byte = std::conditional_t<kConst, const char, char>;
  return BasicTensorView(static_cast<Byte*>(data_) + offset_bytes, dtype_,
                         shape, strides_, device_);
}

template <bool kConst>
BasicTensorView<kConst> BasicTensorView<kConst>::Reshaped(
    const Shape& shape) const {
  CHECK(IsPacked()) << "reshape of a strided view";
  CHECK_EQ(shape.elems(), elems());
  return BasicTensorView(data_, dtype_, shape, device_);
}

template class BasicTensorView<false>;
template class BasicTensorView<true>;

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this != &other) {
    Release();
    resource_ = std::exchange(other.resource_, nullptr);
    view_ = std::exchange(other.view_, TensorView());
  }
  return *this;
}

StatusOr<Tensor> Tensor::Empty(MemoryResource& resource, DType dtype,
                               const Shape& shape) {
  int64_t bytes = SizeOf(dtype);
  for (int64_t d : shape.dims()) {
    if (d < 0) {
      return InvalidArgument(
          fmt::format("tensor of shape {}: negative extent", shape.ToString()));
    }
    if (__builtin_mul_overflow(bytes, d, &bytes)) {
      return InvalidArgument(
          fmt::format("tensor of shape {}: more bytes than int64 counts",
                      shape.ToString()));
    }
  }
  ASSIGN_OR_RETURN(void* data, resource.Allocate(bytes));
  Tensor tensor;
  tensor.resource_ = &resource;
  tensor.view_ = TensorView(data, dtype, shape, resource.device());
  return tensor;
}

StatusOr<Tensor> Tensor::Zeros(MemoryResource& resource, DType dtype,
                               const Shape& shape) {
  CHECK(resource.device().is_cpu());
  ASSIGN_OR_RETURN(Tensor tensor, Empty(resource, dtype, shape));
  if (tensor.bytes() > 0) std::memset(tensor.view_.raw(), 0, tensor.bytes());
  return tensor;
}

void Tensor::Release() {
  if (resource_ != nullptr) {
    resource_->Deallocate(view_.raw(), view_.bytes());
    resource_ = nullptr;
    view_ = TensorView();
  }
}

}  // namespace densenet
