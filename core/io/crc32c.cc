#include "core/io/crc32c.h"

#include <fmt/format.h>
#include <isa-l.h>

#include <algorithm>

namespace densenet {
namespace {

constexpr int64_t kMaxBytesPerCall = int64_t{1} << 30;  // ISA-L counts in int

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, const void* data, int64_t bytes) {
  // ISA-L leaves the inversion before and after to its caller. It does not
  // write through its pointer to non-const.
  auto* p = static_cast<unsigned char*>(const_cast<void*>(data));
  uint32_t state = ~crc;
  while (bytes > 0) {
    const int64_t n = std::min(bytes, kMaxBytesPerCall);
    state = crc32_iscsi(p, static_cast<int>(n), state);
    p += n;
    bytes -= n;
  }
  return ~state;
}

std::string Crc32cHex(uint32_t crc) { return fmt::format("{:08x}", crc); }

}  // namespace densenet
