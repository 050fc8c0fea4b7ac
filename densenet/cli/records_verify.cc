#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "densenet/cli/records.h"
#include "densenet/data/class_names.h"
#include "densenet/data/record_check.h"
#include "densenet/data/record_manifest.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "records verify";

struct Options {
  std::vector<std::string> paths;
  std::optional<std::string> manifest;
  bool images = false;
  ExampleSchema schema;
  int threads = 0;
  std::optional<std::string> json;
};

// What all paths together gave.
struct Outcome {
  int64_t files = 0;
  int64_t records = 0;
  int64_t faults = 0;
  LabelRange labels;
  std::string note;  // on the labels
  Json rows = Json::array();
};

Json ToJson(const RecordSetFault& fault) {
  return {{"file", fault.file},
          {"record", fault.record ? Json(*fault.record) : Json(nullptr)},
          {"offset", fault.offset ? Json(*fault.offset) : Json(nullptr)},
          {"kind", fault.kind},
          {"detail", fault.detail}};
}

// Of the manifest, else of labels.txt in the folder; 0 without either.
StatusOr<int64_t> KnownClasses(const std::string& path, const RecordSet& set) {
  if (set.manifest && !set.manifest->class_names.empty()) {
    return static_cast<int64_t>(set.manifest->class_names.size());
  }
  std::error_code error;
  const std::filesystem::path given(path);
  const std::filesystem::path folder =
      std::filesystem::is_directory(given, error) ? given : given.parent_path();
  const std::string labels = (folder / kRecordLabelsName).string();
  if (!std::filesystem::exists(labels, error)) return 0;
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ReadClassNames(labels));
  return static_cast<int64_t>(names.size());
}

Status VerifyPath(const std::string& path, const Options& options,
                  const Environment& env, Outcome* outcome) {
  ASSIGN_OR_RETURN(const RecordSet set, FindRecordSet(path, options.manifest));
  ExampleSchema schema = options.schema;
  if (set.manifest && schema == ExampleSchema()) schema = set.manifest->schema;
  RecordCheckOptions check;
  check.threads = UsableThreads(options.threads);
  if (options.images) {
    check.images = schema;
    ASSIGN_OR_RETURN(check.classes, KnownClasses(path, set));
  }
  check.progress = ProgressBar(env, "verify", "MiB", int64_t{1} << 20);
  check.should_stop = env.should_stop;
  ASSIGN_OR_RETURN(const std::vector<RecordFileReport> reports,
                   CheckRecordSet(set, check));
  check.progress = {};  // takes the bar away
  for (const RecordFileReport& report : reports) {
    for (const RecordSetFault& fault : report.faults) {
      env.out << fault.ToString() << '\n';
      outcome->rows.push_back(ToJson(fault));
    }
    const auto listed = static_cast<int64_t>(report.faults.size());
    if (listed < report.fault_count) {
      env.out << fmt::format("{}: {} more\n", report.path,
                             Counted(report.fault_count - listed, "fault"));
    }
    ++outcome->files;
    outcome->records += report.records;
    outcome->faults += report.fault_count;
    outcome->labels.Add(report.labels);
  }
  outcome->note = LabelsFromOneNote(outcome->labels, schema);
  if (set.manifest) {
    env.out << fmt::format("manifest: {}\n", set.manifest_path);
  } else {
    env.out << fmt::format(
        "{}: there is no manifest, so records missing at the end of a file "
        "cannot be told\n",
        path);
  }
  return OkStatus();
}

int Run(const Options& options, const Environment& env) {
  const auto fail = [&](const Status& status) {
    return Report(env, kName, status, kExitFailed);
  };
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return fail(status);
  Outcome outcome;
  for (const std::string& path : options.paths) {
    status = VerifyPath(path, options, env, &outcome);
    if (!status.ok()) return fail(status);
  }
  env.out << fmt::format(
      "{} in {}: {}\n", Counted(outcome.records, "record"),
      Counted(outcome.files, "file"),
      outcome.faults == 0 ? "whole" : Counted(outcome.faults, "fault"));
  Json json = {{"records", outcome.records},
               {"files", outcome.files},
               {"faults", outcome.faults},
               {"rows", std::move(outcome.rows)}};
  if (!outcome.labels.empty()) {
    env.out << fmt::format("labels {} to {}\n", outcome.labels.min,
                           outcome.labels.max);
    json["label_min"] = outcome.labels.min;
    json["label_max"] = outcome.labels.max;
  }
  if (!outcome.note.empty()) {
    env.out << fmt::format("note: {}\n", outcome.note);
    json["note"] = outcome.note;
  }
  status = WriteJsonOption(options.json, json);
  if (!status.ok()) return fail(status);
  if (outcome.faults == 0) return kExitDone;
  return fail(DataLoss(fmt::format(
      "{} (listed above); `densenet records repair` saves what is whole",
      Counted(outcome.faults, "fault"))));
}

}  // namespace

void AddRecordsVerify(CLI::App& group, const Environment& env,
                      Command* selected) {
  CLI::App* command = group.add_subcommand(
      "verify", "check both checksums of every record, and the manifest");
  auto o = std::make_shared<Options>();
  command->add_option("paths", o->paths, "record files, or folders of them")
      ->type_name("PATH...")
      ->required();
  AddOption(*command, "--manifest", o->manifest,
            "(manifest.json beside the files, if it is there)", "FILE");
  command->add_flag("--images", o->images,
                    "decode the image of every record, and look at its label");
  AddSchemaOptions(*command, o->schema);
  command->add_option("--threads", o->threads, "(0: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  AddOption(*command, "--json", o->json,
            "write {\"records\", \"faults\", \"rows\": [{\"file\", ...}]}",
            "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
