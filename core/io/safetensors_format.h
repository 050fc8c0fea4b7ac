// core/io/safetensors_format.h
//
// What the safetensors writer and reader share. Not for others.

#ifndef DENSENET_CORE_IO_SAFETENSORS_FORMAT_H_
#define DENSENET_CORE_IO_SAFETENSORS_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace densenet::safetensors {

inline constexpr std::string_view kMetadataKey = "__metadata__";
inline constexpr int64_t kLengthBytes = 8;
inline constexpr int64_t kHeaderAlignment = 8;
// Python's reader takes no longer header.
inline constexpr int64_t kMaxHeaderBytes = 100'000'000;
inline constexpr std::string_view kBlankChecksum = "00000000";
// Data passes through the checksum in pieces that stay in the cache.
inline constexpr int64_t kChunkBytes = int64_t{1} << 20;

struct FileType {
  std::string_view name;
  int bits;
  std::optional<DType> dtype;
};

inline constexpr FileType kFileTypes[] = {
    {"F32", 32, DType::kFloat32},   {"F64", 64, DType::kFloat64},
    {"BF16", 16, DType::kBFloat16}, {"I32", 32, DType::kInt32},
    {"I64", 64, DType::kInt64},     {"U8", 8, DType::kUInt8},
    {"F16", 16, std::nullopt},      {"BOOL", 8, std::nullopt},
    {"I8", 8, std::nullopt},        {"I16", 16, std::nullopt},
    {"U16", 16, std::nullopt},      {"U32", 32, std::nullopt},
    {"U64", 64, std::nullopt},      {"C64", 64, std::nullopt},
    {"F8_E5M2", 8, std::nullopt},   {"F8_E4M3", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},   {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},   {"F4", 4, std::nullopt},
};

inline const FileType* FindFileType(std::string_view name) {
  for (const FileType& type : kFileTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

inline std::string_view FileTypeName(DType dtype) {
  for (const FileType& type : kFileTypes) {
    if (type.dtype == dtype) return type.name;
  }
  return "";
}

// The byte of `header` at which the eight digits of the header checksum start;
// npos without. A quote inside a JSON string is escaped, so the text can only
// be the key itself.
inline size_t FindHeaderChecksum(std::string_view header,
                                 std::string_view key) {
  const std::string text = '"' + std::string(key) + "\":\"";
  const size_t at = header.find(text);
  return at == header.npos ? at : at + text.size();
}

}  // namespace densenet::safetensors

#endif  // DENSENET_CORE_IO_SAFETENSORS_FORMAT_H_
