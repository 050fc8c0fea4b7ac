#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "densenet/cli/datasets.h"
#include "densenet/console.h"
#include "densenet/data/dataset_report.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "datasets verify";

struct Options {
  std::string dataset;
  std::string data;
  std::optional<std::string> json;
};

Json ToJson(const DatasetReport& report) {
  Json files = Json::array();
  for (const FileReport& file : report.files) {
    files.push_back({{"path", file.path},
                     {"bytes", file.bytes},
                     {"published_bytes", file.published.bytes},
                     {"digest", file.digest},
                     {"published_digest", file.published.digest},
                     {"ok", file.ok}});
  }
  Json splits = Json::array();
  for (const SplitReport& split : report.splits) {
    splits.push_back({{"split", Name(split.split)},
                      {"images", split.images},
                      {"published_images", split.published_images},
                      {"images_of_class", split.of_class},
                      {"mean", split.channels.mean},
                      {"std", split.channels.std}});
  }
  return {{"name", report.info.name},  {"folder", report.folder},
          {"ok", report.ok()},         {"class_names", report.info.class_names},
          {"files", std::move(files)}, {"splits", std::move(splits)},
          {"faults", report.faults}};
}

std::string Four(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (double value : values) texts.push_back(fmt::format("{:.4f}", value));
  return fmt::format("{}", fmt::join(texts, " "));
}

void PrintClasses(const SplitReport& split, const ImageDatasetInfo& info,
                  Console& console) {
  const auto [least, most] =
      std::minmax_element(split.of_class.begin(), split.of_class.end());
  if (*least == *most) {
    console.Line(fmt::format("  each of {} classes: {} images", info.classes(),
                             GroupDigits(*least)));
    return;
  }
  for (size_t label = 0; label < split.of_class.size(); ++label) {
    console.Line(fmt::format("  {:>3} {:<16} {:>9} images", label,
                             info.class_names[label],
                             GroupDigits(split.of_class[label])));
  }
}

void Print(const DatasetReport& report, Console& console) {
  for (const FileReport& file : report.files) {
    console.Line(
        fmt::format("{:<28} {:>13} bytes  {}  {}",
                    std::filesystem::path(file.path).filename().string(),
                    GroupDigits(file.bytes), file.digest,
                    file.ok ? "as published" : "NOT as published"));
  }
  for (const SplitReport& split : report.splits) {
    console.Line(fmt::format(
        "{}: {} images, {}", Name(split.split), GroupDigits(split.images),
        split.images == split.published_images
            ? "as published"
            : fmt::format("NOT the published {}",
                          GroupDigits(split.published_images))));
    console.Line(fmt::format("  mean of each channel {}, deviation {}",
                             Four(split.channels.mean),
                             Four(split.channels.std)));
    PrintClasses(split, report.info, console);
  }
  for (const std::string& fault : report.faults) {
    console.Line("fault: " + fault);
  }
}

int Run(const Options& options, const Environment& env) {
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  Console console(env.out, env.terminal);
  HostMemory memory;
  StatusOr<DatasetReport> report =
      VerifyDataset(options.dataset, options.data, memory,
                    [&console](std::string_view text) { console.Bar(text); });
  console.ClearBar();
  if (!report.ok()) {
    return Report(env, kName, report.status(), ExitCodeOf(report.status()));
  }
  Print(*report, console);
  status = WriteJsonOption(options.json, ToJson(*report));
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  if (!report->ok()) {
    const std::string more =
        report->faults.size() == 1
            ? ""
            : fmt::format(" (and {} more)", report->faults.size() - 1);
    return Report(env, kName, DataLoss(report->faults.front() + more),
                  kExitFailed);
  }
  console.Line(fmt::format("{} in {} is what was published", options.dataset,
                           report->folder));
  return kExitDone;
}

}  // namespace

void AddDatasetsVerify(CLI::App& group, const Environment& env,
                       Command* selected) {
  CLI::App* command = group.add_subcommand(
      "verify",
      "hold a data set to what its publisher says: sizes, digests, images, "
      "classes; measures its channels");
  auto o = std::make_shared<Options>();
  command->add_option("name", o->dataset, "the data set")
      ->type_name("NAME")
      ->required();
  command
      ->add_option("--data", o->data,
                   "folder of its files (where the system keeps them)")
      ->type_name("DIR");
  AddOption(*command, "--json", o->json, "write the report", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
