// core/dtype.h
//
// Element types. Arithmetic is float32; the others store, count and index.

#ifndef DENSENET_CORE_DTYPE_H_
#define DENSENET_CORE_DTYPE_H_

#include <cstdint>
#include <string_view>

#include "core/status.h"

namespace densenet {

enum class DType : uint8_t {
  kFloat32,
  kFloat64,
  kBFloat16,
  kInt32,
  kInt64,
  kUInt8,
};

// Bytes of one element.
constexpr int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kInt32:
      return 4;
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
    case DType::kBFloat16:
      return 2;
    case DType::kUInt8:
      return 1;
  }
  return 0;
}

constexpr std::string_view Name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float32";
    case DType::kFloat64:
      return "float64";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kInt32:
      return "int32";
    case DType::kInt64:
      return "int64";
    case DType::kUInt8:
      return "uint8";
  }
  return "unknown";
}

// The DType of a C++ element type; bfloat16 has no C++20 type.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kFloat64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType kValue = DType::kInt32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType kValue = DType::kInt64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType kValue = DType::kUInt8;
};

}  // namespace densenet

#endif  // DENSENET_CORE_DTYPE_H_
