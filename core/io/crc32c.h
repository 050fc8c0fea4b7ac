// core/io/crc32c.h
//
// CRC-32C (Castagnoli), the checksum of checkpoints, records and event files.
//
// Numerics  Crc32c("123456789") == 0xe3069283

#ifndef DENSENET_CORE_IO_CRC32C_H_
#define DENSENET_CORE_IO_CRC32C_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace densenet {

// The checksum of a text followed by `bytes` more at `data`, given `crc`, that
// of the text. 0 is the checksum of nothing.
uint32_t ExtendCrc32c(uint32_t crc, const void* data, int64_t bytes);

inline uint32_t Crc32c(std::string_view text) {
  return ExtendCrc32c(0, text.data(), static_cast<int64_t>(text.size()));
}

// Eight lower-case hexadecimal digits.
std::string Crc32cHex(uint32_t crc);

}  // namespace densenet

#endif  // DENSENET_CORE_IO_CRC32C_H_
