// densenet/byte_size.h
//
// Sizes of memory as people write and read them.

#ifndef DENSENET_DENSENET_BYTE_SIZE_H_
#define DENSENET_DENSENET_BYTE_SIZE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace densenet {

// "8GiB", "1.5 GiB", "512MB", "1048576": a number and B, KB, MB, GB, TB (powers
// of 1000) or KiB, MiB, GiB, TiB (powers of 1024), in any case; without a unit,
// bytes.
// Errors  InvalidArgument  not a size, negative, or beyond int64
StatusOr<int64_t> ParseByteSize(std::string_view text);

// "812 B", "1.5 MiB", "3.1 GiB".
std::string FormatByteSize(int64_t bytes);

}  // namespace densenet

#endif  // DENSENET_DENSENET_BYTE_SIZE_H_
