// tests/support/record_files.h
//
// TFRecord files byte by byte, with a checksum computed bit by bit: what the
// readers and writers of core/io are held to.

#ifndef DENSENET_TESTS_SUPPORT_RECORD_FILES_H_
#define DENSENET_TESTS_SUPPORT_RECORD_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"

namespace densenet::testing {

inline uint32_t NaiveMaskedCrc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    }
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

inline std::string Little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> 8 * i);
  }
  return text;
}

// A header that promises `length` bytes, with the right checksum.
inline std::string TfRecordHeader(uint64_t length) {
  const std::string text = Little(length, 8);
  return text + Little(NaiveMaskedCrc32c(text), 4);
}

inline std::string TfRecord(std::string_view data) {
  return TfRecordHeader(data.size()) + std::string(data) +
         Little(NaiveMaskedCrc32c(data), 4);
}

inline std::string TfRecordFile(const std::vector<std::string>& records) {
  std::string file;
  for (const std::string& record : records) file += TfRecord(record);
  return file;
}

inline std::string RandomBytes(size_t size, uint64_t seed) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>(RandomBits({.seed = seed}, i));
  }
  return bytes;
}

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_RECORD_FILES_H_
