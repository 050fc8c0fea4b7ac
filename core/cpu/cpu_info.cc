#include "core/cpu/cpu_info.h"

#include <dnnl_version.h>
#include <fmt/format.h>
#include <hwy/highway.h>
#include <libxsmm_version.h>

#include <fstream>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "core/context.h"
#include "core/cpu/gemm.h"
#include "core/status.h"

namespace densenet {
namespace {

// The text after "key  :" in a file of such lines; "" without.
std::string ReadField(const char* path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    return std::string(
        absl::StripAsciiWhitespace(AbslView(line).substr(colon + 1)));
  }
  return "";
}

// "MemTotal:  24561234 kB"
int64_t ReadMemoryField(std::string_view key) {
  const std::string text = ReadField("/proc/meminfo", key);
  int64_t kib = 0;
  const absl::string_view digits =
      AbslView(text).substr(0, text.find_first_not_of("0123456789"));
  return absl::SimpleAtoi(digits, &kib) ? kib * 1024 : 0;
}

}  // namespace

CpuInfo GetCpuInfo() {
  CpuInfo info;
  info.model = ReadField("/proc/cpuinfo", "model name");
  if (info.model.empty()) info.model = "unknown";
  info.usable_cpus = AvailableCpus();
  info.total_bytes = ReadMemoryField("MemTotal");
  info.available_bytes = ReadMemoryField("MemAvailable");
  // The best target is the lowest bit.
  const int64_t targets = hwy::SupportedTargets();
  info.simd = hwy::TargetName(targets & -targets);
  info.gemm = GemmTarget();
  info.libraries =
      fmt::format("oneDNN {}.{}.{}, libxsmm {}, Highway {}.{}.{}",
                  DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH,
                  LIBXSMM_CONFIG_VERSION, HWY_MAJOR, HWY_MINOR, HWY_PATCH);
  return info;
}

}  // namespace densenet
