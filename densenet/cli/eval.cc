#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "densenet/checkpoint_evaluation.h"
#include "densenet/checkpoint_folder.h"
#include "densenet/cli/command.h"
#include "densenet/console.h"
#include "densenet/data/data_source.h"
#include "densenet/data/shuffle.h"
#include "densenet/training_data.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "eval";
constexpr int64_t kDefaultBatch = 100;

struct Options {
  std::string checkpoint;
  bool best = false;
  std::optional<std::string> dataset;
  std::optional<std::string> data;
  std::optional<std::string> image_key;
  std::optional<std::string> label_key;
  std::optional<int64_t> label_offset;
  std::string split = "test";
  int64_t batch = kDefaultBatch;
  std::string on_bad_data = "stop";
  int64_t max_bad = 100;
  int64_t prefetch = 2;
  int workers = 0;
  int threads = 0;
  std::string device = "cpu";
  std::optional<std::string> json;
};

// A value of the run's config.json inside a checkpoint.
template <typename T>
T FromRun(const CheckpointInfo& info, const char* key, T otherwise) {
  const auto it = info.run.find(key);
  if (it == info.run.end()) return otherwise;
  try {
    return it->get<T>();
  } catch (const nlohmann::json::exception&) {
    return otherwise;
  }
}

// The folder given, or the one trained from where the data is the same.
std::string DataFolder(const Options& options, const CheckpointInfo& info,
                       const std::string& dataset) {
  if (options.data) return *options.data;
  return dataset == info.data.dataset ? FromRun<std::string>(info, "data", "")
                                      : "";
}

Status CheckFits(const ImageDatasetInfo& images, const CheckpointInfo& info) {
  const ModelConfig& model = info.model;
  // Sizes of their own, and those that the run resized.
  const bool any_size =
      images.height == 0 || FromRun<int64_t>(info, "image-size", 0) > 0;
  if ((any_size || (images.height == model.image_height &&
                    images.width == model.image_width)) &&
      images.channels == model.image_channels &&
      images.classes() == model.classes) {
    // Labels of class folders follow from their names.
    if (images.height > 0 || images.class_names == info.data.class_names) {
      return OkStatus();
    }
    return InvalidArgument(
        fmt::format("{}: its classes are {}; the model was trained on {}",
                    images.name, fmt::join(images.class_names, ", "),
                    fmt::join(info.data.class_names, ", ")));
  }
  return InvalidArgument(fmt::format(
      "{} has {} x {} x {} images of {} classes; the model was trained on {} "
      "x {} x {} of {}",
      images.name, images.height, images.width, images.channels,
      images.classes(), model.image_height, model.image_width,
      model.image_channels, model.classes));
}

DataQuery QueryFor(const Options& options, const CheckpointInfo& info,
                   const std::string& dataset) {
  DataQuery query = {.dataset = dataset,
                     .folder = DataFolder(options, info, dataset)};
  // Records are taken to be written alike; an option tells otherwise.
  const auto text = [&](const char* key, auto otherwise) {
    using T = decltype(otherwise);
    return info.run.contains(key)
               ? std::optional<T>(FromRun<T>(info, key, otherwise))
               : std::nullopt;
  };
  if (dataset == info.data.dataset) {
    query.image_key = text("image-key", std::string());
    query.label_key = text("label-key", std::string());
    query.label_offset = text("label-offset", int64_t{0});
  }
  if (options.image_key) query.image_key = options.image_key;
  if (options.label_key) query.label_key = options.label_key;
  if (options.label_offset) query.label_offset = options.label_offset;
  if (options.on_bad_data == "skip") query.max_faults = options.max_bad;
  return query;
}

// The images of a split, as the training run divided them.
StatusOr<BatchSource> MakeSource(const Options& options,
                                 const CheckpointInfo& info,
                                 const ExampleStore& set) {
  RunConfig config;
  config.batch = options.batch;
  config.skip_bad_data = options.on_bad_data == "skip";
  config.image_size = FromRun<int64_t>(info, "image-size", 0);
  if (set.Info().height == 0) config.image_size = info.model.image_height;
  ASSIGN_OR_RETURN(config.augment, ParseAugmentKind(FromRun<std::string>(
                                       info, "augment", "none")));
  const BatchSource::Options source = EvaluationSourceOptions(config);
  const int64_t held_out = FromRun<int64_t>(info, "validation", 0);
  if (options.split == "test" || held_out == 0) {
    return BatchSource::Create(&set, info.data.normalization, source);
  }
  ASSIGN_OR_RETURN(HeldOut parts, HoldOut(set.count(), held_out,
                                          FromRun<uint64_t>(info, "seed", 1)));
  return BatchSource::Create(
      &set, info.data.normalization, source,
      std::move(options.split == "train" ? parts.train : parts.validation));
}

StatusOr<Evaluation> EvaluateImages(const Options& options,
                                    const Checkpoint& checkpoint,
                                    const Environment& env) {
  const CheckpointInfo& info = checkpoint.info();
  const std::string dataset = options.dataset.value_or(info.data.dataset);
  if (dataset.empty()) {
    return InvalidArgument(fmt::format(
        "{} names no data set: say with --dataset what to evaluate on",
        checkpoint.path()));
  }
  const DataQuery query = QueryFor(options, info, dataset);
  ASSIGN_OR_RETURN(const ImageDatasetInfo images, DescribeData(query));
  RETURN_IF_ERROR(CheckFits(images, info));
  ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                   Context::Create({.threads = options.threads}));
  HostMemory memory;
  std::vector<std::string> notes;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ExampleStore> set,
      OpenData(query, options.split == "test" ? Split::kTest : Split::kTrain,
               memory, &notes));
  for (const std::string& note : notes) env.out << "note: " << note << '\n';
  ASSIGN_OR_RETURN(const BatchSource source, MakeSource(options, info, *set));
  if (source.examples() == 0) {
    return InvalidArgument(
        fmt::format("{}: no images to evaluate on", dataset));
  }
  Console console(env.out, env.terminal);
  ASSIGN_OR_RETURN(
      const std::optional<Evaluation> evaluation,
      EvaluateCheckpoint(
          *context, memory, checkpoint, source, options.prefetch,
          options.workers, options.max_bad, [&](int64_t done, int64_t total) {
            console.Bar(fmt::format("evaluating {}%", 100 * done / total));
            return !(env.should_stop && env.should_stop());
          }));
  if (!evaluation) return Unavailable("stopped before the end");
  return *evaluation;
}

int Run(const Options& options, const Environment& env) {
  StatusOr<std::string> device = ResolveDevice(options.device, kName, env);
  if (!device.ok()) {
    return Report(env, kName, device.status(), ExitCodeOf(device.status()));
  }
  if (options.dataset) {
    const Status status = CheckDataSourceName(*options.dataset);
    if (!status.ok()) return Report(env, kName, status, kExitUsage);
  }
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  std::vector<Status> damaged;
  StatusOr<Checkpoint> checkpoint =
      OpenCheckpoint(options.checkpoint, options.best, &damaged);
  if (!checkpoint.ok()) {
    return Report(env, kName, checkpoint.status(), kExitFailed);
  }
  for (const Status& damage : damaged) {
    Report(env, kName, Annotate(damage, "warning, passed over"), 0);
  }
  if (options.split == "validation" &&
      FromRun<int64_t>(checkpoint->info(), "validation", 0) == 0) {
    return Report(env, kName,
                  InvalidArgument("--split validation: the run held out no "
                                  "images (train --validation N)"),
                  kExitUsage);
  }
  StatusOr<Evaluation> result = EvaluateImages(options, *checkpoint, env);
  if (!result.ok()) return Report(env, kName, result.status(), kExitFailed);
  for (const Status& skipped : result->skipped) {
    Report(env, kName, Annotate(skipped, "warning, left out"), 0);
  }
  env.out << fmt::format(
      "{}: {}, loss {:.4f} on {} {} images of {}\n", checkpoint->path(),
      ErrorText(result->score), result->score.loss, result->examples,
      options.split, options.dataset.value_or(checkpoint->info().data.dataset));
  Json json = {{"error_percent", result->score.error_percent},
               {"loss", result->score.loss},
               {"examples", result->examples}};
  if (result->score.top5_error_percent) {
    json["top5_error_percent"] = *result->score.top5_error_percent;
  }
  if (options.on_bad_data == "skip") json["skipped"] = result->skipped.size();
  status = WriteJsonOption(options.json, json);
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

}  // namespace

void AddEvalCommand(CLI::App& app, const Environment& env, Command* selected) {
  CLI::App* command = app.add_subcommand(
      kName, "error on a data set from a checkpoint or run folder");
  auto o = std::make_shared<Options>();
  command
      ->add_option("--checkpoint", o->checkpoint,
                   "a checkpoint, or a run folder: its newest")
      ->type_name("FILE|DIR")
      ->required();
  command->add_flag("--best", o->best, "the best of the run folder instead");
  AddOption(*command, "--dataset", o->dataset, "(the one trained on)", "NAME");
  AddOption(*command, "--data", o->data, "folder of its files", "DIR");
  AddOption(*command, "--image-key", o->image_key,
            "records: as of train (the run's)", "NAME");
  AddOption(*command, "--label-key", o->label_key,
            "records: as of train (the run's)", "NAME");
  AddOption(*command, "--label-offset", o->label_offset,
            "records: as of train (the run's)", "N");
  command->add_option("--split", o->split, "which images (test)")
      ->type_name("")
      ->check(CLI::IsMember({"test", "train", "validation"}));
  command->add_option("--batch", o->batch, "images at a time (100)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  command
      ->add_option("--on-bad-data", o->on_bad_data,
                   "an image that cannot be read stops, or is left out (stop)")
      ->type_name("stop|skip")
      ->check(CLI::IsMember({"stop", "skip"}));
  command
      ->add_option("--max-bad", o->max_bad,
                   "with skip: stop when there are more (100)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  command->add_option("--prefetch", o->prefetch, "batches prepared ahead (2)")
      ->type_name("N")
      ->check(CLI::Range(0, 1000));
  command
      ->add_option("--workers", o->workers,
                   "threads that prepare them (0: one for each core where "
                   "images are decoded, else 1)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  command->add_option("--threads", o->threads, "(0: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  command->add_option("--device", o->device, "cpu or auto (cpu)")
      ->type_name("DEVICE");
  AddOption(*command, "--json", o->json, "write the result", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
