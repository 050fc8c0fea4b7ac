#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>

#include "absl/strings/numbers.h"
#include "core/io/file.h"
#include "densenet/cli/records.h"
#include "densenet/data/class_files.h"
#include "densenet/data/class_names.h"
#include "densenet/data/dataset.h"
#include "densenet/data/record_builder.h"
#include "densenet/data/shuffle.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "records build";
constexpr char kFolder[] = "folder";
constexpr size_t kMaxSkippedLines = 10;

struct Options {
  std::string dataset = kFolder;
  std::string data;
  std::string out;
  std::optional<std::string> labels;
  std::optional<std::string> validation;
  int64_t shards = 0;
  bool gzip = false;
  bool no_shuffle = false;
  uint64_t seed = 1;
  int threads = 0;
  std::string on_bad_data = "stop";
  int64_t max_bad = 100;
  std::optional<std::string> json;
};

// What is to be written, and who owns it.
struct Input {
  HostMemory memory;
  std::vector<std::unique_ptr<Dataset>> datasets;
  std::vector<std::unique_ptr<RecordSource>> sources;
  std::vector<RecordSplit> splits;  // the training split first
  std::vector<std::string> class_names;
  int64_t others = 0;
  std::vector<std::string> notes;
};

void AddSplit(std::string name, std::unique_ptr<RecordSource> source,
              Input* input) {
  RecordSplit split;
  split.name = std::move(name);
  split.source = source.get();
  split.examples.resize(static_cast<size_t>(source->count()));
  std::iota(split.examples.begin(), split.examples.end(), 0);
  input->sources.push_back(std::move(source));
  input->splits.push_back(std::move(split));
}

// DIR/train with class folders in it: DIR holds splits. DIR/train with images
// in it is a class.
StatusOr<bool> HoldsSplits(const std::string& data) {
  std::error_code error;
  const std::string train = data + "/train";
  if (!fs::is_directory(train, error)) return false;
  ASSIGN_OR_RETURN(const std::vector<std::string> folders, FoldersIn(train));
  return !folders.empty();
}

Status AddFolder(const std::string& folder, std::string split, bool every_class,
                 Input* input) {
  ASSIGN_OR_RETURN(ClassFiles files,
                   ListClassFiles(folder, input->class_names, every_class));
  if (files.others.count > 0) input->notes.push_back(files.others.Note(split));
  input->others += files.others.count;
  AddSplit(std::move(split),
           std::make_unique<ClassFilesSource>(std::move(files)), input);
  return OkStatus();
}

Status OpenFolder(const Options& options, Input* input) {
  if (options.data.empty()) {
    return InvalidArgument("name the folder of class folders with --data DIR");
  }
  std::string data = options.data;
  while (data.size() > 1 && data.ends_with('/')) data.pop_back();
  ASSIGN_OR_RETURN(const bool splits, HoldsSplits(data));
  const std::string train = splits ? data + "/train" : data;
  if (options.labels) {
    ASSIGN_OR_RETURN(input->class_names, ReadClassNames(*options.labels));
  } else {
    ASSIGN_OR_RETURN(input->class_names, FoldersIn(train));
  }
  RETURN_IF_ERROR(AddFolder(train, "train", /*every_class=*/true, input));
  if (!splits) return OkStatus();
  constexpr std::pair<const char*, const char*> kOthers[] = {
      {"val", "validation"},
      {"validation", "validation"},
      {"valid", "validation"},
      {"test", "test"}};
  for (const auto& [name, split] : kOthers) {
    std::error_code error;
    const std::string folder = fmt::format("{}/{}", data, name);
    if (!fs::is_directory(folder, error)) continue;
    if (input->splits.back().name == split) {
      return InvalidArgument(
          fmt::format("{}: there are two folders of validation images", data));
    }
    RETURN_IF_ERROR(AddFolder(folder, split, /*every_class=*/false, input));
  }
  return OkStatus();
}

Status OpenDataset(const Options& options, Input* input) {
  if (options.labels) {
    return InvalidArgument(
        fmt::format("--labels goes with class folders; {} has its own classes",
                    options.dataset));
  }
  for (const Split split : {Split::kTrain, Split::kTest}) {
    ASSIGN_OR_RETURN(Dataset dataset, LoadDataset(options.dataset, options.data,
                                                  split, input->memory));
    auto owned = std::make_unique<Dataset>(std::move(dataset));
    input->class_names = owned->info.class_names;
    AddSplit(std::string(Name(split)),
             std::make_unique<DatasetSource>(owned.get(), split), input);
    input->datasets.push_back(std::move(owned));
  }
  return OkStatus();
}

// "500" images or "0.1" of them, of the training split.
StatusOr<int64_t> ValidationCount(const std::string& text, int64_t images) {
  int64_t count = 0;
  if (absl::SimpleAtoi(text, &count) && count > 0) return count;
  double share = 0;
  if (absl::SimpleAtod(text, &share) && 0 < share && share < 1) {
    return std::max<int64_t>(1,
                             std::llround(share * static_cast<double>(images)));
  }
  return InvalidArgument(fmt::format(
      "--validation {}: expected a number of images or a share below 1", text));
}

Status HoldOutValidation(const Options& options, Input* input) {
  if (!options.validation) return OkStatus();
  for (const RecordSplit& split : input->splits) {
    if (split.name == "validation") {
      return InvalidArgument(
          "--validation: the data have a validation split of their own");
    }
  }
  const auto images = static_cast<int64_t>(input->splits[0].examples.size());
  ASSIGN_OR_RETURN(const int64_t count,
                   ValidationCount(*options.validation, images));
  ASSIGN_OR_RETURN(HeldOut held, HoldOut(images, count, options.seed));
  RecordSplit validation = input->splits[0];
  validation.name = "validation";
  validation.examples = std::move(held.validation);
  input->splits[0].examples = std::move(held.train);
  input->splits.insert(input->splits.begin() + 1, std::move(validation));
  return OkStatus();
}

StatusOr<std::unique_ptr<Input>> OpenInput(const Options& options) {
  auto input = std::make_unique<Input>();
  RETURN_IF_ERROR(options.dataset == kFolder
                      ? OpenFolder(options, input.get())
                      : OpenDataset(options, input.get()));
  RETURN_IF_ERROR(HoldOutValidation(options, input.get()));
  const auto images = static_cast<int64_t>(input->splits[0].examples.size());
  if (options.shards > images) {
    return InvalidArgument(fmt::format("--shards {}: there are {} images",
                                       options.shards, images));
  }
  return input;
}

StatusOr<RecordBuildReport> Build(const Options& options, const Input& input,
                                  const Environment& env) {
  RecordBuildOptions build;
  build.shards = options.shards;
  build.gzip = options.gzip;
  build.shuffle = !options.no_shuffle;
  build.seed = options.seed;
  build.threads = UsableThreads(options.threads);
  build.skip_bad = options.on_bad_data == "skip";
  build.max_bad = options.max_bad;
  build.progress = ProgressBar(env, "build", "images", 1);
  build.should_stop = env.should_stop;
  return BuildRecords(input.splits, input.class_names, options.out, build);
}

Json Summarize(const Options& options, const Input& input,
               const RecordBuildReport& report, const Environment& env) {
  for (const std::string& note : input.notes) env.out << note << '\n';
  Json skipped = Json::array();
  for (const Status& status : report.skipped) {
    if (skipped.size() < kMaxSkippedLines) {
      env.out << fmt::format("skipped {}\n", StdView(status.message()));
    }
    skipped.push_back(std::string(StdView(status.message())));
  }
  if (skipped.size() > kMaxSkippedLines) {
    env.out << fmt::format("skipped {} more (--json lists all)\n",
                           skipped.size() - kMaxSkippedLines);
  }
  Json splits = Json::object();
  int64_t bytes = 0;
  for (const RecordShard& shard : report.manifest.shards) {
    bytes += shard.bytes;
    const int64_t before =
        splits.contains(shard.split) ? splits[shard.split].get<int64_t>() : 0;
    splits[shard.split] = before + shard.records;
  }
  for (const auto& [split, records] : splits.items()) {
    env.out << fmt::format("{:<12}{:>10} records\n", split,
                           records.get<int64_t>());
  }
  const auto shards = static_cast<int64_t>(report.manifest.shards.size());
  env.out << fmt::format("{} of {} classes in {}, {} bytes, in {}\n",
                         Counted(report.manifest.records(), "record"),
                         input.class_names.size(), Counted(shards, "file"),
                         bytes, options.out);
  return {{"out", options.out},
          {"records", report.manifest.records()},
          {"splits", std::move(splits)},
          {"shards", shards},
          {"bytes", bytes},
          {"classes", input.class_names.size()},
          {"passed_over", input.others},
          {"skipped", std::move(skipped)}};
}

int Run(const Options& options, const Environment& env) {
  const auto fail = [&](const Status& status, int code) {
    return Report(env, kName, status, code);
  };
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return fail(status, kExitFailed);
  const StatusOr<std::unique_ptr<Input>> input = OpenInput(options);
  if (!input.ok()) return fail(input.status(), ExitCodeOf(input.status()));
  const StatusOr<RecordBuildReport> report = Build(options, **input, env);
  if (!report.ok()) return fail(report.status(), kExitFailed);
  status =
      WriteJsonOption(options.json, Summarize(options, **input, *report, env));
  if (!status.ok()) return fail(status, kExitFailed);
  return kExitDone;
}

}  // namespace

void AddRecordsBuild(CLI::App& group, const Environment& env,
                     Command* selected) {
  CLI::App* command = group.add_subcommand(
      "build", "write images as sharded TFRecord files with a manifest");
  auto o = std::make_shared<Options>();
  command
      ->add_option(
          "--dataset", o->dataset,
          fmt::format("folder or {} (folder)", fmt::join(DatasetNames(), ", ")))
      ->type_name("NAME");
  command
      ->add_option("--data", o->data,
                   "class folders of images, or train/ and val/ with them")
      ->type_name("DIR");
  command->add_option("--out", o->out, "the new folder")
      ->type_name("DIR")
      ->required();
  AddOption(*command, "--labels", o->labels,
            "class names in the order of their labels, one a line (the class "
            "folders, sorted)",
            "FILE");
  AddOption(*command, "--validation", o->validation,
            "training images to hold out: a number, or a share below 1",
            "N|SHARE");
  command
      ->add_option("--shards", o->shards,
                   "files of the training split (one for 128 MiB)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{99999}));
  command->add_flag("--gzip", o->gzip, "pack the files");
  command->add_flag("--no-shuffle", o->no_shuffle, "keep the order");
  command->add_option("--seed", o->seed, "of order and validation split (1)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--threads", o->threads, "(0: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--on-bad-data", o->on_bad_data,
                   "an image that cannot be used: stop or skip (stop)")
      ->type_name("stop|skip")
      ->check(CLI::IsMember({"stop", "skip"}));
  command
      ->add_option("--max-bad", o->max_bad,
                   "with skip: stop when there are more (100)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  AddOption(*command, "--json", o->json,
            "write {\"records\", \"splits\", \"skipped\", ...}", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
