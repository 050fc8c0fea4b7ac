#include "core/cpu/cpu_info.h"

#include <dnnl_version.h>
#include <fmt/format.h>
#include <hwy/highway.h>
#include <libxsmm_version.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
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

// A number in a file of its own; nothing where there is none ("max").
std::optional<int64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  int64_t number = 0;
  if (!(file >> text) || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

// Of a group's memory.stat ("file 1234"): the page cache, which makes room for
// whoever asks.
int64_t PageCacheBytes(const std::string& folder) {
  std::ifstream file(folder + "/memory.stat");
  std::string key;
  int64_t value = 0;
  while (file >> key >> value) {
    if (key == "file") return value;
  }
  return 0;
}

// What the control groups of this process allow (cgroup v2): the least of the
// limits from its own up to the root, and what is left below it.
void ApplyControlGroups(CpuInfo& info) {
  constexpr std::string_view kRoot = "/sys/fs/cgroup";
  // "0::/user.slice/session.scope"
  std::string group = ReadField("/proc/self/cgroup", "0:");
  group = group.substr(std::min(group.size(), group.find('/')));
  for (;;) {
    const std::string folder = std::string(kRoot) + group;
    if (const auto limit = ReadNumber(folder + "/memory.max")) {
      const int64_t left = *limit -
                           ReadNumber(folder + "/memory.current").value_or(0) +
                           PageCacheBytes(folder);
      info.total_bytes = std::min(info.total_bytes, *limit);
      info.available_bytes =
          std::min(info.available_bytes, std::max<int64_t>(left, 0));
    }
    if (group.empty() || group == "/") return;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

CpuInfo GetCpuInfo() {
  CpuInfo info;
  info.model = ReadField("/proc/cpuinfo", "model name");
  if (info.model.empty()) info.model = "unknown";
  info.usable_cpus = AvailableCpus();
  info.total_bytes = ReadMemoryField("MemTotal");
  info.available_bytes = ReadMemoryField("MemAvailable");
  ApplyControlGroups(info);
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
