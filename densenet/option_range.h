// densenet/option_range.h
//
// Numbers from the command line within bounds, refused in one wording:
// "--batch 0: expected 1 to 1000000".
//
// Errors   InvalidArgument  outside the range
// Threads  safe

#ifndef DENSENET_DENSENET_OPTION_RANGE_H_
#define DENSENET_DENSENET_OPTION_RANGE_H_

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string_view>

#include "core/status.h"

namespace densenet {

// Of --threads and --workers. More than any machine has; threads are created
// at once, so a slip of the finger must not ask for millions.
inline constexpr int64_t kMaxThreads = 1024;

// `option` without its dashes.
inline Status CheckRange(std::string_view option, int64_t value, int64_t least,
                         int64_t most = std::numeric_limits<int64_t>::max()) {
  if (least <= value && value <= most) return OkStatus();
  const bool bounded = most < std::numeric_limits<int64_t>::max();
  return InvalidArgument(fmt::format(
      "--{} {}: expected {} {}", option, value, least,
      bounded ? fmt::format("to {}", most) : std::string("or more")));
}

}  // namespace densenet

#endif  // DENSENET_DENSENET_OPTION_RANGE_H_
