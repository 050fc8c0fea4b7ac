#include <fmt/format.h>

#include <memory>

#include "densenet/cli/records.h"
#include "densenet/data/record_check.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "records repair";

struct Options {
  std::string from;
  std::string to;
  std::optional<std::string> json;
};

Json ToJson(const RecordRepairReport& report) {
  Json rows = Json::array();
  for (const RecordFault& fault : report.faults) {
    rows.push_back({{"file", fault.path},
                    {"record", fault.record},
                    {"offset", fault.offset},
                    {"kind", Name(fault.kind)},
                    {"detail", fault.detail}});
  }
  return {{"records", report.records},
          {"dropped_bytes", report.dropped_bytes},
          {"faults", report.fault_count},
          {"rows", std::move(rows)}};
}

int Run(const Options& options, const Environment& env) {
  const auto fail = [&](const Status& status, int code) {
    return Report(env, kName, status, code);
  };
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return fail(status, kExitFailed);
  const StatusOr<RecordRepairReport> report =
      RepairRecordFile(options.from, options.to, env.should_stop);
  if (!report.ok()) return fail(report.status(), kExitFailed);
  for (const RecordFault& fault : report->faults) {
    env.out << "dropped  " << fault.ToString() << '\n';
  }
  const auto listed = static_cast<int64_t>(report->faults.size());
  if (listed < report->fault_count) {
    env.out << fmt::format("dropped  {} more\n",
                           Counted(report->fault_count - listed, "fault"));
  }
  env.out << fmt::format("{} written to {}; {} dropped, {} bytes\n",
                         Counted(report->records, "record"), options.to,
                         Counted(report->fault_count, "fault"),
                         report->dropped_bytes);
  status = WriteJsonOption(options.json, ToJson(*report));
  if (!status.ok()) return fail(status, kExitFailed);
  return kExitDone;
}

}  // namespace

void AddRecordsRepair(CLI::App& group, const Environment& env,
                      Command* selected) {
  CLI::App* command = group.add_subcommand(
      "repair", "write what is whole of a damaged file into a new one");
  auto o = std::make_shared<Options>();
  command->add_option("from", o->from, "the damaged file")
      ->type_name("FROM")
      ->required();
  command->add_option("to", o->to, "the new file")->type_name("TO")->required();
  AddOption(
      *command, "--json", o->json,
      "write {\"records\", \"dropped_bytes\", \"faults\", \"rows\": [...]}",
      "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
