#include <glog/logging.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "densenet/interchange/tensor_file.h"

namespace densenet {
namespace {

// IEEE half precision.
double FromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double value = 0;
  if (exponent == 0x1f) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 0x400, exponent - 25);
  }
  return bits >> 15 != 0 ? -value : value;
}

double FromBrain(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

template <typename T>
double FromNumber(T value) {
  return static_cast<double>(value);
}

template <typename T, double (*kConvert)(T)>
void Decode(const char* bytes, absl::Span<double> out) {
  for (double& to : out) {
    T from;
    std::memcpy(&from, bytes, sizeof(T));
    bytes += sizeof(T);
    to = kConvert(from);
  }
}

struct ElementType {
  std::string_view name;
  int64_t bytes;
  void (*decode)(const char* bytes, absl::Span<double> out);
};

template <typename T, double (*kConvert)(T) = FromNumber<T>>
constexpr ElementType Type(std::string_view name) {
  return {name, sizeof(T), Decode<T, kConvert>};
}

constexpr ElementType kTypes[] = {
    Type<float>("F32"),
    Type<double>("F64"),
    Type<uint16_t, FromHalf>("F16"),
    Type<uint16_t, FromBrain>("BF16"),
    Type<int64_t>("I64"),
    Type<int32_t>("I32"),
    Type<int16_t>("I16"),
    Type<int8_t>("I8"),
    Type<uint64_t>("U64"),
    Type<uint32_t>("U32"),
    Type<uint16_t>("U16"),
    Type<uint8_t>("U8"),
    Type<uint8_t>("BOOL"),
};

const ElementType* FindType(std::string_view name) {
  for (const ElementType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

}  // namespace

int64_t ElementBytes(std::string_view dtype) {
  const ElementType* type = FindType(dtype);
  return type == nullptr ? 0 : type->bytes;
}

void DecodeElements(std::string_view dtype, const char* bytes,
                    absl::Span<double> out) {
  const ElementType* type = FindType(dtype);
  CHECK(type != nullptr) << dtype;
  type->decode(bytes, out);
}

}  // namespace densenet
