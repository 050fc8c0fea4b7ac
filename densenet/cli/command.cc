#include "densenet/cli/command.h"

#include <fmt/format.h>

#include "core/device.h"
#include "core/io/file.h"
#include "densenet/run_folder.h"

namespace densenet::cli {
namespace {

// Names of files may have line breaks and what a terminal obeys.
std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (code < 0x20 || code == 0x7f) {
      line += fmt::format("\\x{:02x}", code);
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace

int Report(const Environment& env, std::string_view command,
           const Status& status, int code) {
  env.err << fmt::format("densenet {}: {}\n", command,
                         OneLine(StdView(status.message())))
          << std::flush;
  return code;
}

int ExitCodeOf(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument ? kExitUsage
                                                       : kExitFailed;
}

Status CheckJsonOption(const std::optional<std::string>& path) {
  return path ? CheckCanWriteFile(*path) : OkStatus();
}

Status WriteJsonOption(const std::optional<std::string>& path,
                       const Json& json) {
  return path ? WriteFileAtomically(*path, DumpJson(json, 2) + "\n")
              : OkStatus();
}

std::string GroupDigits(int64_t count) {
  std::string digits = std::to_string(count);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}

StatusOr<std::string> ResolveDevice(const std::string& device,
                                    std::string_view what,
                                    const Environment& env) {
  if (device == "auto") {
    env.out << fmt::format("device auto: {} runs on the CPU today; using cpu\n",
                           what);
    return std::string("cpu");
  }
  ASSIGN_OR_RETURN(const Device parsed, Device::Parse(device));
  if (parsed.is_cpu()) return std::string("cpu");
  return Unimplemented(fmt::format(
      "--device {}: {} does not run on CUDA yet (`densenet devices` shows the "
      "cards; single operations run there: affine + ReLU, addition, 1x1 and "
      "3x3 convolution); use --device cpu",
      device, what));
}

}  // namespace densenet::cli
