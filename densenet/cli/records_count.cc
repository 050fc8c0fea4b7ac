#include <fmt/format.h>

#include <memory>

#include "densenet/cli/records.h"
#include "densenet/data/record_check.h"
#include "densenet/data/record_manifest.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "records count";

struct Options {
  std::vector<std::string> paths;
  std::optional<std::string> json;
};

StatusOr<int64_t> CountAll(const Options& options, const Environment& env) {
  std::vector<std::string> files;
  for (const std::string& path : options.paths) {
    ASSIGN_OR_RETURN(const RecordSet set, FindRecordSet(path));
    files.insert(files.end(), set.paths.begin(), set.paths.end());
  }
  int64_t total = 0;
  for (const std::string& file : files) {
    const StatusOr<int64_t> records = CountRecords(file, env.should_stop);
    if (records.status().code() == StatusCode::kUnavailable) {
      return records.status();
    }
    if (!records.ok()) {
      return Annotate(records.status(),
                      fmt::format("cannot count the records of a damaged file "
                                  "(`densenet records verify` lists all "
                                  "faults)"));
    }
    total += *records;
    if (files.size() > 1)
      env.out << fmt::format("{:>10}  {}\n", *records, file);
  }
  env.out << fmt::format("{} in {}\n", Counted(total, "record"),
                         Counted(static_cast<int64_t>(files.size()), "file"));
  return total;
}

int Run(const Options& options, const Environment& env) {
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  const StatusOr<int64_t> records = CountAll(options, env);
  if (!records.ok()) return Report(env, kName, records.status(), kExitFailed);
  status = WriteJsonOption(options.json, {{"records", *records}});
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  return kExitDone;
}

}  // namespace

void AddRecordsCount(CLI::App& group, const Environment& env,
                     Command* selected) {
  CLI::App* command =
      group.add_subcommand("count", "how many records files or folders have");
  auto o = std::make_shared<Options>();
  command->add_option("paths", o->paths, "record files, or folders of them")
      ->type_name("PATH...")
      ->required();
  AddOption(*command, "--json", o->json, "write {\"records\": N}", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
