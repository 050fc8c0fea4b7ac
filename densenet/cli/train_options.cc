#include "densenet/cli/train_options.h"

#include <fmt/format.h>

#include <tuple>
#include <vector>

#include "absl/strings/str_join.h"
#include "core/optim/optimizer.h"
#include "densenet/cli/command.h"
#include "densenet/data/data_source.h"
#include "densenet/run_folder.h"

namespace densenet::cli {
namespace {

// All fields, for what concerns every one.
auto Fields(RunOptions& o) {
  return std::tie(
      o.preset, o.depth, o.blocks, o.growth, o.bottleneck, o.compression,
      o.dropout, o.stem, o.stem_channels, o.bn_epsilon, o.init_from,
      o.init_digest, o.freeze_features, o.dataset, o.data, o.image_key,
      o.label_key, o.label_offset, o.image_size, o.augment, o.normalize,
      o.validation, o.last_batch, o.on_bad_data, o.max_bad, o.prefetch,
      o.workers, o.batch, o.epochs, o.steps_per_epoch, o.max_steps,
      o.initial_epoch, o.patience, o.max_time, o.optimizer, o.learning_rate,
      o.schedule, o.milestones, o.weight_decay, o.momentum, o.label_smoothing,
      o.class_weights, o.seed, o.strategy, o.memory_budget, o.device, o.threads,
      o.out, o.eval_every, o.keep, o.keep_every, o.checkpoint_every,
      o.checkpoint_minutes);
}

template <size_t... kIndex, typename Fields>
void TakeGiven(std::index_sequence<kIndex...>, Fields to, Fields from) {
  ((std::get<kIndex>(from)
        ? (void)(std::get<kIndex>(to) = std::get<kIndex>(from))
        : (void)0),
   ...);
}

std::string Join(const std::vector<std::string>& names) {
  return absl::StrJoin(names, "|");
}

void AddOptimizationOptions(CLI::App& command, RunOptions& o) {
  constexpr char kGroup[] = "Optimization";
  AddOption(command, "--epochs", o.epochs,
            "(the paper's: 300 on CIFAR; 40 elsewhere)", "N")
      ->group(kGroup);
  AddOption(command, "--steps-per-epoch", o.steps_per_epoch,
            "steps between evaluations instead of one pass over the images; "
            "passes go on where the last epoch ended",
            "N")
      ->group(kGroup);
  AddOption(command, "--max-steps", o.max_steps,
            "end after N steps if --epochs are not over by then", "N")
      ->group(kGroup);
  AddOption(command, "--initial-epoch", o.initial_epoch,
            "epochs that count as done at the start: schedule and numbering "
            "begin behind them (0)",
            "N")
      ->group(kGroup);
  AddOption(command, "--patience", o.patience,
            "end after N evaluations in a row without a lower error (0: do "
            "not)",
            "N")
      ->group(kGroup);
  AddOption(command, "--max-time", o.max_time,
            "save and stop after this time; the same command goes on", "3h")
      ->group(kGroup);
  AddOption(command, "--batch", o.batch,
            "images of a step (64); auto: the largest that fits "
            "--memory-budget",
            "N|auto")
      ->group(kGroup);
  AddOption(command, "--optimizer", o.optimizer, "(nesterov)",
            Join(OptimizerNames()))
      ->group(kGroup);
  AddOption(command, "--lr", o.learning_rate, "learning rate (0.1)", "X")
      ->group(kGroup);
  AddOption(command, "--schedule", o.schedule,
            "step: a tenth of the rate from each milestone on (step)",
            Join(ScheduleNames()))
      ->group(kGroup);
  AddOption(command, "--milestones", o.milestones,
            "fractions of the training (0.5,0.75)", "X,X,...")
      ->delimiter(',')
      ->group(kGroup);
  AddOption(command, "--weight-decay", o.weight_decay,
            "of all parameters: adds decay * w to the gradient (1e-4)", "X")
      ->group(kGroup);
  AddOption(command, "--momentum", o.momentum, "(0.9)", "X")->group(kGroup);
  AddOption(command, "--label-smoothing", o.label_smoothing,
            "part of each label that is spread over all classes (0)", "E")
      ->group(kGroup);
  AddOption(command, "--class-weights", o.class_weights,
            "weights of the classes in the loss: balanced (each class counts "
            "alike), or a file with a class and its weight a line (1 each)",
            "balanced|FILE")
      ->group(kGroup);
  AddOption(command, "--seed", o.seed,
            "of initial values, order, augmentation, dropout (1)", "N")
      ->check(CLI::NonNegativeNumber)
      ->group(kGroup);
}

void AddFineTuningOptions(CLI::App& command, RunOptions& o) {
  constexpr char kGroup[] = "Fine-tuning";
  AddOption(command, "--init-from", o.init_from,
            "start from the network of a checkpoint, or of a run folder's "
            "newest; a new classifier where it has other classes, and its "
            "normalization unless --normalize says otherwise",
            "FILE|DIR")
      ->group(kGroup);
  AddOption(command, "--init-digest", o.init_digest,
            "refuse another file (a run's config.json has it)", "sha1:...")
      ->group(kGroup);
  command
      .add_flag_function(
          "--freeze-features,!--no-freeze-features",
          [&o](int64_t count) { o.freeze_features = count > 0; },
          "train the classifier alone; all before it stays as it is, batch "
          "norm by running statistics (off)")
      ->group(kGroup);
}

void AddMachineOptions(CLI::App& command, RunOptions& o) {
  constexpr char kGroup[] = "Machine";
  std::vector<std::string> strategies = {"auto"};
  for (Strategy strategy : AllStrategies()) {
    strategies.emplace_back(Name(strategy));
  }
  AddOption(command, "--strategy", o.strategy,
            "what is kept for the backward pass (auto: fused if it fits, else "
            "features-only)",
            Join(strategies))
      ->group(kGroup);
  AddOption(command, "--memory-budget", o.memory_budget,
            "refuse to start if more is planned (the machine's memory)", "8GiB")
      ->group(kGroup);
  AddOption(command, "--device", o.device, "cpu, or auto: what there is (cpu)",
            "cpu|auto|cuda:N")
      ->group(kGroup);
  AddOption(command, "--threads", o.threads,
            "(0: one for each core); same results", "N")
      ->group(kGroup);
}

void AddFolderOptions(CLI::App& command, RunOptions& o) {
  constexpr char kGroup[] = "Run folder";
  AddOption(command, "--out", o.out,
            "the run folder; an unfinished run in it goes on "
            "(runs/<model>-<dataset>-seed<seed>)",
            "DIR")
      ->group(kGroup);
  AddOption(command, "--eval-every", o.eval_every,
            "epochs between evaluations (1)", "N")
      ->group(kGroup);
  AddOption(command, "--keep", o.keep, "checkpoints to keep, best aside (3)",
            "N")
      ->group(kGroup);
  AddOption(command, "--keep-every", o.keep_every,
            "also keep the checkpoint of every N-th epoch (0: none)", "N")
      ->group(kGroup);
  AddOption(command, "--checkpoint-every", o.checkpoint_every,
            "steps between checkpoints, besides those after each epoch (0: "
            "none)",
            "N")
      ->group(kGroup);
  AddOption(command, "--checkpoint-minutes", o.checkpoint_minutes,
            "minutes between checkpoints, likewise (10; 0: none)", "X")
      ->group(kGroup);
}

// "--key=value"; a flag as "--key" or "--no-key".
Status AppendArguments(const std::string& key, const Json& value,
                       std::vector<std::string>& arguments) {
  auto text = [](const Json& scalar) {
    return scalar.is_string() ? scalar.get<std::string>() : scalar.dump();
  };
  if (value.is_boolean()) {
    arguments.push_back((value.get<bool>() ? "--" : "--no-") + key);
  } else if (value.is_array()) {
    std::vector<std::string> parts;
    for (const Json& part : value) parts.push_back(text(part));
    arguments.push_back(fmt::format("--{}={}", key, absl::StrJoin(parts, ",")));
  } else if (value.is_object() || value.is_null()) {
    return InvalidArgument(
        fmt::format("'{}': expected a text, number, flag or list", key));
  } else {
    arguments.push_back(fmt::format("--{}={}", key, text(value)));
  }
  return OkStatus();
}

bool IsOverruled(const std::string& file_key, const RunOptions& given) {
  return (given.preset && Overrules("preset", file_key)) ||
         (given.depth && Overrules("depth", file_key)) ||
         (given.blocks && Overrules("blocks", file_key));
}

StatusOr<RunOptions> ReadConfigFile(const Json& json, const RunOptions& given) {
  std::vector<std::string> arguments;
  for (const auto& [key, value] : json.items()) {
    if (IsOverruled(key, given)) continue;
    RETURN_IF_ERROR(AppendArguments(key, value, arguments));
  }
  RunOptions options;
  CLI::App parser;
  parser.set_help_flag();  // "help" is no key
  AddRunOptions(parser, options);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    parser.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    return InvalidArgument(error.what());
  }
  return options;
}

}  // namespace

void AddModelOptions(CLI::App& command, RunOptions& o) {
  constexpr char kGroup[] = "Model";
  AddOption(command, "--preset", o.preset,
            "a row of the paper (see densenet presets), with its recipe",
            "NAME")
      ->group(kGroup);
  AddOption(command, "--depth", o.depth,
            "layers: (depth - 4) divides by 3, with bottleneck by 6", "N")
      ->group(kGroup);
  AddOption(command, "--blocks", o.blocks,
            "layers of each block, in place of --depth: 6,12,24,16", "N,N,...")
      ->delimiter(',')
      ->group(kGroup);
  AddOption(command, "--growth", o.growth, "growth rate (12)", "K")
      ->group(kGroup);
  command
      .add_flag_function(
          "--bottleneck,!--no-bottleneck",
          [&o](int64_t count) { o.bottleneck = count > 0; },
          "1x1 convolution before each 3x3 (off)")
      ->group(kGroup);
  AddOption(command, "--compression", o.compression,
            "of channels at transitions (0.5 with bottleneck, else 1)", "X")
      ->group(kGroup);
  AddOption(command, "--dropout", o.dropout,
            "rate after each convolution but the first (0; a preset without "
            "augmentation: 0.2)",
            "X")
      ->group(kGroup);
  AddOption(command, "--stem", o.stem,
            "cifar: 3x3; imagenet: 7x7/2 and pooling (cifar)", "cifar|imagenet")
      ->group(kGroup);
  AddOption(command, "--stem-channels", o.stem_channels,
            "(2 * growth where compressed or imagenet, else 16)", "N")
      ->group(kGroup);
  AddOption(command, "--bn-epsilon", o.bn_epsilon,
            "added to the variance in batch norm (1e-5)", "X")
      ->group(kGroup);
}

void AddDataOptions(CLI::App& command, RunOptions& o) {
  constexpr char kGroup[] = "Data";
  AddOption(command, "--dataset", o.dataset, "what the images are",
            Join(DataSourceNames()))
      ->group(kGroup);
  AddOption(command, "--data", o.data,
            "folder of its files (where the system keeps them)", "DIR")
      ->group(kGroup);
  AddOption(command, "--image-key", o.image_key,
            "records: the feature that holds the image (image/encoded)", "NAME")
      ->group(kGroup);
  AddOption(command, "--label-key", o.label_key,
            "records: the feature that holds the label (image/class/label)",
            "NAME")
      ->group(kGroup);
  AddOption(command, "--label-offset", o.label_offset,
            "records: the label of the first class (0)", "N")
      ->group(kGroup);
  AddOption(command, "--augment", o.augment,
            "cifar: pad 4, random crop, mirror; imagenet: random part, mirror, "
            "colours, and evaluation on the centre 7/8 (folder, records: "
            "imagenet; else none)",
            "none|cifar|imagenet")
      ->group(kGroup);
  AddOption(
      command, "--normalize", o.normalize,
      "by the training images' mean and deviation, ImageNet's, or given "
      "as 0.5,0.5,0.5/0.2,0.2,0.2 (folder, records: imagenet; else dataset)",
      "dataset|imagenet|M,../S,..")
      ->group(kGroup);
  AddOption(command, "--validation", o.validation,
            "training images to hold out and evaluate on instead of the test "
            "images (0)",
            "N")
      ->group(kGroup);
  AddOption(command, "--last-batch", o.last_batch,
            "of an epoch, if smaller: train on it, drop it, or pad it with "
            "images of the same epoch (keep)",
            "keep|drop|pad")
      ->group(kGroup);
  AddOption(command, "--on-bad-data", o.on_bad_data,
            "an image that cannot be read stops training, or another stands in "
            "for it (stop)",
            "stop|skip")
      ->group(kGroup);
  AddOption(command, "--max-bad", o.max_bad,
            "with skip: stop when an epoch has more (100)", "N")
      ->group(kGroup);
  AddOption(command, "--prefetch", o.prefetch,
            "batches prepared ahead (2); same results", "N")
      ->group(kGroup);
  AddOption(command, "--workers", o.workers,
            "threads that prepare them (0: one for each core where images are "
            "decoded, else 1); same results",
            "N")
      ->group(kGroup);
}

void AddRunOptions(CLI::App& command, RunOptions& options) {
  AddModelOptions(command, options);
  AddDataOptions(command, options);
  AddOption(command, "--image-size", options.image_size,
            "bring images to N x N (folder, records: 224; else as they are)",
            "N")
      ->group("Data");
  AddOptimizationOptions(command, options);
  AddFineTuningOptions(command, options);
  AddMachineOptions(command, options);
  AddFolderOptions(command, options);
}

StatusOr<RunOptions> MergeConfigFile(const std::string& path,
                                     const RunOptions& given) {
  ASSIGN_OR_RETURN(const Json json, ReadJsonObject(path));
  StatusOr<RunOptions> merged = ReadConfigFile(json, given);
  if (!merged.ok()) {
    return Annotate(merged.status(), "configuration file " + path);
  }
  RunOptions from = given;
  auto to_fields = Fields(*merged);
  TakeGiven(std::make_index_sequence<std::tuple_size_v<decltype(to_fields)>>(),
            to_fields, Fields(from));
  return merged;
}

}  // namespace densenet::cli
