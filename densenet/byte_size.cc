#include "densenet/byte_size.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"

namespace densenet {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr double kKi = 1024;
constexpr Unit kUnits[] = {
    {"", 1},
    {"b", 1},
    {"kb", 1e3},
    {"mb", 1e6},
    {"gb", 1e9},
    {"tb", 1e12},
    {"kib", kKi},
    {"mib", kKi* kKi},
    {"gib", kKi* kKi* kKi},
    {"tib", kKi* kKi* kKi* kKi},
};
constexpr double kMaxBytes = 9e18;  // below 2^63

}  // namespace

StatusOr<int64_t> ParseByteSize(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc()) {
    const std::string_view rest = text.substr(end - text.data());
    const std::string unit =
        absl::AsciiStrToLower(absl::StripAsciiWhitespace(AbslView(rest)));
    for (const Unit& known : kUnits) {
      if (unit != known.name) continue;
      const double bytes = std::round(number * known.bytes);
      if (!(bytes >= 0 && bytes < kMaxBytes)) break;
      return static_cast<int64_t>(bytes);
    }
  }
  return InvalidArgument(fmt::format(
      "'{}' is no size of memory: expected, say, 8GiB, 512MiB or 2000000000",
      text));
}

std::string FormatByteSize(int64_t bytes) {
  if (bytes < kKi) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::string_view unit;
  for (std::string_view next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < kKi) break;
    value /= kKi;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

}  // namespace densenet
