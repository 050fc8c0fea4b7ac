#include <fmt/format.h>

#include <memory>

#include "core/cpu/cpu_info.h"
#include "core/cuda/cuda.h"
#include "densenet/byte_size.h"
#include "densenet/cli/command.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "devices";

Json CpuRow(const CpuInfo& cpu) {
  return {{"device", "cpu"},
          {"name", cpu.model},
          {"cores", cpu.usable_cpus},
          {"total_bytes", cpu.total_bytes},
          {"available_bytes", cpu.available_bytes},
          {"simd", cpu.simd},
          {"gemm", cpu.gemm},
          {"libraries", cpu.libraries}};
}

void PrintCpu(const CpuInfo& cpu, std::ostream& out) {
  out << fmt::format("cpu      {}\n", cpu.model)
      << fmt::format("         {} cores usable, {} of {} memory available\n",
                     cpu.usable_cpus, FormatByteSize(cpu.available_bytes),
                     FormatByteSize(cpu.total_bytes))
      << fmt::format("         element-wise {}, matrix products {}\n", cpu.simd,
                     cpu.gemm)
      << fmt::format("         {}\n", cpu.libraries);
}

// Cards that are there; why there are none is no failure of this command.
void AddCards(Json& rows, std::ostream& out) {
  const StatusOr<std::vector<CudaDeviceInfo>> cards = ListCudaDevices();
  if (!cards.ok()) {
    out << fmt::format("cuda     none: {}\n",
                       StdView(cards.status().message()));
    return;
  }
  for (const CudaDeviceInfo& card : *cards) {
    const std::string device = fmt::format("cuda:{}", card.index);
    out << fmt::format("{:<8} {}, compute capability {}.{}, {}\n", device,
                       card.name, card.compute_major, card.compute_minor,
                       FormatByteSize(card.total_bytes));
    if (!card.problem.empty()) {
      out << fmt::format("         cannot be used: {}\n", card.problem);
    }
    rows.push_back(
        {{"device", device},
         {"name", card.name},
         {"compute_capability",
          fmt::format("{}.{}", card.compute_major, card.compute_minor)},
         {"total_bytes", card.total_bytes},
         {"problem", card.problem},
         {"libraries", CudaVersions()}});
  }
  if (!cards->empty()) out << "         " << CudaVersions() << '\n';
}

}  // namespace

void AddDevicesCommand(CLI::App& app, const Environment& env,
                       Command* selected) {
  CLI::App* command =
      app.add_subcommand(kName, "what this machine offers to train on");
  auto json = std::make_shared<std::optional<std::string>>();
  AddOption(*command, "--json", *json, "write {\"rows\": [...]}", "FILE");
  command->callback([&env, selected, json] {
    *selected = [&env, json]() -> int {
      Status status = CheckJsonOption(*json);
      if (!status.ok()) return Report(env, kName, status, kExitFailed);
      const CpuInfo cpu = GetCpuInfo();
      Json rows = Json::array({CpuRow(cpu)});
      PrintCpu(cpu, env.out);
      AddCards(rows, env.out);
      status = WriteJsonOption(*json, Json{{"rows", std::move(rows)}});
      return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
    };
  });
}

}  // namespace densenet::cli
