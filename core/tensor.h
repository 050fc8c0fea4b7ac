// core/tensor.h
//
// TensorView / ConstTensorView: pointer, type, shape, strides and device of
// elements that somebody else owns. Tensor: owns bytes of a MemoryResource.
//
// Strides count elements and may exceed the packed ones, as in a channel
// prefix of a feature buffer: (N, H, W, C) with row stride C_total.

#ifndef DENSENET_CORE_TENSOR_H_
#define DENSENET_CORE_TENSOR_H_

#include <glog/logging.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "core/device.h"
#include "core/dtype.h"
#include "core/memory_resource.h"
#include "core/shape.h"
#include "core/status.h"

namespace densenet {

template <bool kConst>
class BasicTensorView {
 public:
  using Pointer = std::conditional_t<kConst, const void*, void*>;
  template <typename T>
  using Element = std::conditional_t<kConst, const T, T>;

  BasicTensorView() = default;
  // A packed row-major view.
  BasicTensorView(Pointer data, DType dtype, const Shape& shape,
                  Device device = Device::Cpu())
      : BasicTensorView(data, dtype, shape, PackedStrides(shape), device) {}
  BasicTensorView(Pointer data, DType dtype, const Shape& shape,
                  const Shape& strides, Device device = Device::Cpu())
      : data_(data),
        dtype_(dtype),
        device_(device),
        shape_(shape),
        strides_(strides) {
    CHECK_EQ(shape.rank(), strides.rank());
  }
  // Every mutable view is also a const one.
  template <bool kOther, typename = std::enable_if_t<kConst && !kOther>>
  BasicTensorView(const BasicTensorView<kOther>& other)  // NOLINT: implicit
      : BasicTensorView(other.raw(), other.dtype(), other.shape(),
                        other.strides(), other.device()) {}

  Pointer raw() const { return data_; }
  // CHECKs that T is the element type.
  template <typename T>
  Element<T>* data() const {
    CHECK(DTypeOf<T>::kValue == dtype_)
        << "view holds " << Name(dtype_) << ", read as "
        << Name(DTypeOf<T>::kValue);
    return static_cast<Element<T>*>(data_);
  }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int axis) const { return shape_.dim(axis); }
  int64_t stride(int axis) const { return strides_.dim(axis); }
  int64_t elems() const { return shape_.elems(); }
  int64_t bytes() const { return elems() * SizeOf(dtype_); }

  // Elements stand one after the other in row-major order.
  bool IsPacked() const;
  // All axes but the innermost collapse into equally spaced rows of adjacent
  // elements that do not overlap: a (rows x C) matrix with leading dimension
  // row_stride() >= C.
  bool IsRowStrided() const;
  // The product of all extents but the innermost; 1 for rank 0 and 1.
  int64_t rows() const;
  // The distance of two rows of an IsRowStrided() view.
  int64_t row_stride() const;

  // The elements [begin, end) of one axis; nothing is copied.
  // CHECKs the bounds: ops that take them from users validate first. A view of
  // a null pointer, which describes a tensor without bytes, stays one.
  BasicTensorView Slice(int axis, int64_t begin, int64_t end) const;
  // The same elements of a packed view in another shape.
  BasicTensorView Reshaped(const Shape& shape) const;

  // "float32 (64, 32, 32, 24)"
  std::string ToString() const {
    return std::string(Name(dtype_)) + " " + shape_.ToString();
  }

 private:
  Pointer data_ = nullptr;
  DType dtype_ = DType::kFloat32;
  Device device_;
  Shape shape_;
  Shape strides_;
};

using TensorView = BasicTensorView<false>;
using ConstTensorView = BasicTensorView<true>;

extern template class BasicTensorView<false>;
extern template class BasicTensorView<true>;

// Owns a packed tensor. Move-only; returns its bytes when destroyed, so the
// MemoryResource must outlive it. A default Tensor holds nothing.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Tensor&& other) noexcept { *this = std::move(other); }
  Tensor& operator=(Tensor&& other) noexcept;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { Release(); }

  // Contents are undefined.
  // Errors  ResourceExhausted  the resource has no room
  //         InvalidArgument    a negative extent, or more bytes than int64
  //                            counts
  static StatusOr<Tensor> Empty(MemoryResource& resource, DType dtype,
                                const Shape& shape);
  // Host resources only.
  static StatusOr<Tensor> Zeros(MemoryResource& resource, DType dtype,
                                const Shape& shape);

  bool empty() const { return resource_ == nullptr; }
  TensorView view() { return view_; }
  ConstTensorView view() const { return view_; }
  ConstTensorView const_view() const { return view_; }
  const Shape& shape() const { return view_.shape(); }
  DType dtype() const { return view_.dtype(); }
  int64_t elems() const { return view_.elems(); }
  int64_t bytes() const { return view_.bytes(); }
  template <typename T>
  T* data() {
    return view_.data<T>();
  }
  template <typename T>
  const T* data() const {
    return view_.data<T>();
  }

 private:
  void Release();

  MemoryResource* resource_ = nullptr;
  TensorView view_;
};

}  // namespace densenet

#endif  // DENSENET_CORE_TENSOR_H_
