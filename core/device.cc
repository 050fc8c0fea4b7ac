#include "core/device.h"

#include <fmt/format.h>

#include <charconv>

namespace densenet {

StatusOr<Device> Device::Parse(std::string_view text) {
  if (text == "cpu") return Cpu();
  constexpr std::string_view kPrefix = "cuda:";
  if (text == "cuda") return Cuda(0);
  if (text.substr(0, kPrefix.size()) == kPrefix) {
    const std::string_view digits = text.substr(kPrefix.size());
    int index = -1;
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc() && end == digits.data() + digits.size() &&
        index >= 0) {
      return Cuda(index);
    }
  }
  return InvalidArgument(fmt::format(
      "unknown device '{}': expected cpu or cuda:<index>, as listed by "
      "`densenet devices`",
      text));
}

std::string Device::ToString() const {
  return is_cpu() ? "cpu" : fmt::format("cuda:{}", index);
}

}  // namespace densenet
