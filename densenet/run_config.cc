#include "densenet/run_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "core/device.h"
#include "core/io/file.h"
#include "densenet/byte_size.h"
#include "densenet/class_weights.h"
#include "densenet/data/data_source.h"
#include "densenet/data/normalization.h"
#include "densenet/initial_network.h"
#include "densenet/option_range.h"
#include "densenet/presets.h"

namespace densenet {
namespace {

constexpr int64_t kCifarBlocks = 3;
constexpr std::string_view kImageNet = "imagenet";
constexpr int64_t kOtherDatasetEpochs = 40;  // the paper's for SVHN
// Far beyond what anybody trains, and far from where products of them leave
// int64.
constexpr int64_t kMaxEpochs = 1'000'000;
constexpr int64_t kMaxSteps = 1'000'000'000'000;
constexpr int64_t kMaxPrefetch = 1000;
constexpr int64_t kMaxImageSize = 4096;
constexpr int64_t kPhotoSize = 224;
constexpr int64_t kMaxLayers = 10'000;
constexpr int64_t kMaxChannels = 10'000;  // of growth and stem

StatusOr<LastBatch> ParseLastBatch(std::string_view name) {
  for (LastBatch last_batch :
       {LastBatch::kKeep, LastBatch::kDrop, LastBatch::kPad}) {
    if (name == Name(last_batch)) return last_batch;
  }
  return InvalidArgument(fmt::format(
      "unknown --last-batch '{}': expected keep, drop or pad", name));
}

// The name of the preset whose network this is, dropout and data aside.
std::string PresetOf(const RunOptions& o, const ModelConfig& model) {
  if (!o.preset) return "";
  ModelConfig published = FindPresetOrNull(*o.preset)->model;
  published.image_height = model.image_height;
  published.image_width = model.image_width;
  published.image_channels = model.image_channels;
  published.classes = model.classes;
  published.dropout = model.dropout;
  return published == model ? *o.preset : "";
}

// "3h", "90m", "1h30m", in seconds.
StatusOr<double> ParseMaxTime(const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) ||
      duration <= absl::ZeroDuration() ||
      duration == absl::InfiniteDuration()) {
    return InvalidArgument(fmt::format(
        "--max-time {}: expected a time with its unit, like 3h, 90m or 1h30m",
        text));
  }
  return absl::ToDoubleSeconds(duration);
}

// "64", or "auto".
StatusOr<int64_t> ParseBatch(const std::string& text) {
  if (text == kAutoOption) return kAutoBatch;
  int64_t batch = 0;
  if (!absl::SimpleAtoi(text, &batch) || batch < 1 || batch > kMaxBatch) {
    return InvalidArgument(
        fmt::format("--batch {}: expected 1 to {}, or auto", text, kMaxBatch));
  }
  return batch;
}

// What a data set is fed with if nothing is said: photographs as ImageNet is.
AugmentKind DefaultAugment(std::string_view dataset) {
  return IsStreamed(dataset) ? AugmentKind::kImageNet : AugmentKind::kNone;
}

// The images, and how they come to the network.
Status ResolveData(const RunOptions& o, RunConfig& c) {
  if (!o.dataset) {
    return InvalidArgument("which data? Give --dataset");
  }
  c.dataset = *o.dataset;
  if (o.data && !o.data->empty()) {
    // So that the run goes on, and is evaluated, from any folder.
    std::error_code error;
    const std::filesystem::path path =
        std::filesystem::absolute(*o.data, error);
    if (error) return FileError("find", *o.data, error.value());
    c.data = path.lexically_normal().string();
  }
  const std::string on_bad_data = o.on_bad_data.value_or("stop");
  if (on_bad_data != "stop" && on_bad_data != "skip") {
    return InvalidArgument(fmt::format(
        "unknown --on-bad-data '{}': expected stop or skip", on_bad_data));
  }
  c.skip_bad_data = on_bad_data == "skip";
  c.max_bad = o.max_bad.value_or(c.max_bad);
  RETURN_IF_ERROR(CheckRange("max-bad", c.max_bad, 0));
  c.image_key = o.image_key;
  c.label_key = o.label_key;
  c.label_offset = o.label_offset;
  if (c.dataset != "records" &&
      (c.image_key || c.label_key || c.label_offset)) {
    return InvalidArgument(
        "--image-key, --label-key and --label-offset say what records are "
        "like: they go with --dataset records");
  }
  ASSIGN_OR_RETURN(const ImageDatasetInfo info, DescribeData(QueryOf(c)));
  c.image_size = o.image_size.value_or(info.height == 0 ? kPhotoSize : 0);
  RETURN_IF_ERROR(CheckRange("image-size", c.image_size, 0, kMaxImageSize));
  c.model.image_height = c.image_size > 0 ? c.image_size : info.height;
  c.model.image_width = c.image_size > 0 ? c.image_size : info.width;
  c.model.image_channels = info.channels;
  c.model.classes = info.classes();
  c.augment = DefaultAugment(c.dataset);
  if (o.augment) {
    ASSIGN_OR_RETURN(c.augment, ParseAugmentKind(*o.augment));
  }
  const Recipe recipe = RecipeOf(c);
  c.normalize = o.normalize.value_or(recipe.normalize);
  RETURN_IF_ERROR(ParseNormalization(c.normalize, info.channels).status());
  c.validation = o.validation.value_or(recipe.validation);
  RETURN_IF_ERROR(CheckRange("validation", c.validation, 0));
  if (o.last_batch) {
    ASSIGN_OR_RETURN(c.last_batch, ParseLastBatch(*o.last_batch));
  }
  c.label_smoothing = o.label_smoothing.value_or(0);
  if (!(0 <= c.label_smoothing && c.label_smoothing < 1)) {
    return InvalidArgument(
        fmt::format("--label-smoothing {}: expected 0 or more, less than 1",
                    c.label_smoothing));
  }
  if (o.class_weights) {
    ASSIGN_OR_RETURN(c.class_weights,
                     ParseClassWeights(*o.class_weights, info.class_names));
  }
  c.prefetch = o.prefetch.value_or(c.prefetch);
  RETURN_IF_ERROR(CheckRange("prefetch", c.prefetch, 0, kMaxPrefetch));
  c.workers = o.workers.value_or(c.workers);
  RETURN_IF_ERROR(CheckRange("workers", c.workers, 0, kMaxThreads));
  return OkStatus();
}

// Which network the run starts from, and what follows from that. What
// config.json says of it is enough to go on with a run when the file is gone.
Status ResolveInitialNetwork(const RunOptions& o, RunConfig& c) {
  c.freeze_features = o.freeze_features.value_or(false);
  if (!o.init_from) {
    if (!c.freeze_features && !o.init_digest) return OkStatus();
    return InvalidArgument(
        "--freeze-features and --init-digest go with --init-from: which "
        "network does the run start from?");
  }
  c.init_from = *o.init_from;
  c.init_digest = o.init_digest.value_or("");
  std::error_code error;
  if (o.init_digest && o.normalize &&
      !std::filesystem::exists(c.init_from, error)) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const InitialNetwork initial,
                   DescribeInitialNetwork(*o.init_from));
  if (o.init_digest && *o.init_digest != initial.digest) {
    return InvalidArgument(fmt::format(
        "--init-from {}: its digest is {}, expected {}: it is another file "
        "than the run began with",
        *o.init_from, initial.digest, *o.init_digest));
  }
  RETURN_IF_ERROR(CheckFits(initial, c.model));
  c.init_from = initial.path;
  c.init_digest = initial.digest;
  if (!o.normalize) {
    const Normalization& n = initial.info.data.normalization;
    c.normalize =
        fmt::format("{}/{}", fmt::join(n.mean, ","), fmt::join(n.std, ","));
    RETURN_IF_ERROR(
        ParseNormalization(c.normalize, c.model.image_channels).status());
  }
  return OkStatus();
}

Status ResolveOptimization(const RunOptions& o, const Recipe& recipe,
                           RunConfig& c) {
  c.batch = recipe.batch;
  if (o.batch) {
    ASSIGN_OR_RETURN(c.batch, ParseBatch(*o.batch));
  }
  c.epochs = o.epochs.value_or(recipe.epochs);
  RETURN_IF_ERROR(CheckRange("epochs", c.epochs, 1, kMaxEpochs));
  c.steps_per_epoch = o.steps_per_epoch.value_or(0);
  c.max_steps = o.max_steps.value_or(0);
  RETURN_IF_ERROR(
      CheckRange("steps-per-epoch", c.steps_per_epoch, 0, kMaxSteps));
  RETURN_IF_ERROR(CheckRange("max-steps", c.max_steps, 0, kMaxSteps));
  c.initial_epoch = o.initial_epoch.value_or(0);
  RETURN_IF_ERROR(
      CheckRange("initial-epoch", c.initial_epoch, 0, c.epochs - 1));
  c.patience = o.patience.value_or(0);
  RETURN_IF_ERROR(CheckRange("patience", c.patience, 0));
  if (o.max_time) {
    ASSIGN_OR_RETURN(c.max_seconds, ParseMaxTime(*o.max_time));
  }
  c.optimizer.name = o.optimizer.value_or(c.optimizer.name);
  c.optimizer.momentum = static_cast<float>(o.momentum.value_or(0.9));
  c.optimizer.weight_decay = static_cast<float>(o.weight_decay.value_or(1e-4));
  c.schedule.name = o.schedule.value_or(c.schedule.name);
  c.schedule.learning_rate = o.learning_rate.value_or(recipe.learning_rate);
  c.schedule.milestones = o.milestones.value_or(recipe.milestones);
  c.seed = o.seed.value_or(c.seed);
  if (!(c.schedule.learning_rate > 0 &&
        std::isfinite(c.schedule.learning_rate))) {
    return InvalidArgument(fmt::format(
        "--lr {}: expected a finite number above 0", c.schedule.learning_rate));
  }
  RETURN_IF_ERROR(Optimizer::Create(c.optimizer).status());
  return LearningRateSchedule::Create(c.schedule).status();
}

Status ResolveMachineAndFolder(const RunOptions& o, RunConfig& c) {
  if (o.strategy && *o.strategy != kAutoOption) {
    const StatusOr<Strategy> strategy = ParseStrategy(*o.strategy);
    if (!strategy.ok()) {
      return InvalidArgument(fmt::format(
          "{}, or {}", StdView(strategy.status().message()), kAutoOption));
    }
    c.strategy = *strategy;
  }
  if (o.memory_budget) {
    ASSIGN_OR_RETURN(c.memory_budget_bytes, ParseByteSize(*o.memory_budget));
    if (c.memory_budget_bytes == 0) {
      return InvalidArgument(
          fmt::format("--memory-budget {}: expected more than 0; leave it out "
                      "for no budget",
                      *o.memory_budget));
    }
  }
  c.device = o.device.value_or(c.device);
  if (c.device != "auto") RETURN_IF_ERROR(Device::Parse(c.device).status());
  c.threads = o.threads.value_or(c.threads);
  RETURN_IF_ERROR(CheckRange("threads", c.threads, 0, kMaxThreads));
  c.eval_every = o.eval_every.value_or(c.eval_every);
  c.keep = o.keep.value_or(c.keep);
  c.keep_every = o.keep_every.value_or(c.keep_every);
  c.checkpoint_every = o.checkpoint_every.value_or(c.checkpoint_every);
  c.checkpoint_minutes = o.checkpoint_minutes.value_or(c.checkpoint_minutes);
  RETURN_IF_ERROR(CheckRange("eval-every", c.eval_every, 1));
  RETURN_IF_ERROR(CheckRange("keep", c.keep, 1));
  RETURN_IF_ERROR(CheckRange("keep-every", c.keep_every, 0, kMaxEpochs));
  RETURN_IF_ERROR(CheckRange("checkpoint-every", c.checkpoint_every, 0));
  if (!(c.checkpoint_minutes >= 0 && std::isfinite(c.checkpoint_minutes))) {
    return InvalidArgument(
        fmt::format("--checkpoint-minutes {}: expected 0 (never) or more",
                    c.checkpoint_minutes));
  }
  c.out = o.out.value_or(
      fmt::format("runs/{}-{}-seed{}", ModelName(c.model), c.dataset, c.seed));
  if (c.out.empty()) return InvalidArgument("--out is empty");
  return OkStatus();
}

}  // namespace

std::string_view Name(LastBatch last_batch) {
  switch (last_batch) {
    case LastBatch::kKeep:
      return "keep";
    case LastBatch::kDrop:
      return "drop";
    case LastBatch::kPad:
      return "pad";
  }
  return "";
}

Recipe RecipeOf(const RunConfig& c) {
  const bool photographs = IsStreamed(c.dataset);
  // Nobody else has as many classes.
  const bool image_net = photographs && c.model.stem == Stem::kImageNet &&
                         c.model.classes == PaperClasses(kImageNet);
  const std::optional<Recipe> paper =
      PaperRecipe(image_net ? kImageNet : std::string_view(c.dataset),
                  c.augment != AugmentKind::kNone);
  Recipe recipe = paper.value_or(Recipe{.epochs = kOtherDatasetEpochs});
  if (paper && !c.preset.empty()) return recipe;
  recipe.dropout = 0;
  recipe.validation = 0;
  recipe.normalize = photographs ? "imagenet" : "dataset";
  return recipe;
}

std::string_view Name(AugmentKind kind) {
  switch (kind) {
    case AugmentKind::kNone:
      return "none";
    case AugmentKind::kCifar:
      return "cifar";
    case AugmentKind::kImageNet:
      return "imagenet";
  }
  return "";
}

StatusOr<AugmentKind> ParseAugmentKind(std::string_view name) {
  for (AugmentKind kind :
       {AugmentKind::kNone, AugmentKind::kCifar, AugmentKind::kImageNet}) {
    if (name == Name(kind)) return kind;
  }
  return InvalidArgument(fmt::format(
      "unknown --augment '{}': expected none, cifar or imagenet", name));
}

DataQuery QueryOf(const RunConfig& config) {
  DataQuery query = {.dataset = config.dataset,
                     .folder = config.data,
                     .image_key = config.image_key,
                     .label_key = config.label_key,
                     .label_offset = config.label_offset};
  if (config.skip_bad_data) query.max_faults = config.max_bad;
  return query;
}

StatusOr<ModelConfig> ResolveModel(const RunOptions& o) {
  if (!o.names_model()) {
    return InvalidArgument(
        "which network? Give --preset (densenet presets lists them), or "
        "--depth with --growth and --bottleneck, or --blocks");
  }
  if (o.depth && o.blocks) {
    return InvalidArgument(
        "--depth and --blocks both say how many layers there are: give one");
  }
  ModelConfig model;
  bool bottleneck = false;
  if (o.preset) {
    ASSIGN_OR_RETURN(const Preset* preset, FindPreset(*o.preset));
    model = preset->model;
    bottleneck = model.bottleneck;
  } else {
    model.compression = DefaultCompression(o.bottleneck.value_or(false));
  }
  model.growth_rate = o.growth.value_or(model.growth_rate);
  RETURN_IF_ERROR(CheckRange("growth", model.growth_rate, 1, kMaxChannels));
  model.bottleneck = o.bottleneck.value_or(bottleneck);
  if (o.preset && model.bottleneck != bottleneck) {
    model.compression = DefaultCompression(model.bottleneck);
  }
  model.compression = o.compression.value_or(model.compression);
  if (o.stem) {
    ASSIGN_OR_RETURN(model.stem, ParseStem(*o.stem));
  }
  model.batch_norm_epsilon = o.bn_epsilon.value_or(model.batch_norm_epsilon);
  if (o.blocks) {
    for (int64_t layers : *o.blocks) {
      RETURN_IF_ERROR(CheckRange("blocks", layers, 1, kMaxLayers));
    }
    model.block_config = *o.blocks;
  } else if (o.depth) {
    RETURN_IF_ERROR(CheckRange("depth", *o.depth, 1, kMaxLayers));
    ASSIGN_OR_RETURN(ModelConfig sized,
                     CifarConfig(*o.depth, model.growth_rate, model.bottleneck,
                                 model.compression));
    model.block_config = sized.block_config;
  }
  model.stem_channels = o.stem_channels.value_or(DefaultStemChannels(model));
  RETURN_IF_ERROR(
      CheckRange("stem-channels", model.stem_channels, 1, 2 * kMaxChannels));
  return model;
}

StatusOr<RunConfig> ResolveRunConfig(const RunOptions& o) {
  RunConfig c;
  ASSIGN_OR_RETURN(c.model, ResolveModel(o));
  c.preset = PresetOf(o, c.model);
  RETURN_IF_ERROR(ResolveData(o, c));
  const Recipe recipe = RecipeOf(c);
  c.model.dropout = o.dropout.value_or(recipe.dropout);
  RETURN_IF_ERROR(ValidateModelConfig(c.model));
  RETURN_IF_ERROR(ResolveInitialNetwork(o, c));
  RETURN_IF_ERROR(ResolveOptimization(o, recipe, c));
  RETURN_IF_ERROR(ResolveMachineAndFolder(o, c));
  return c;
}

std::string ModelName(const ModelConfig& model) {
  for (const Preset& preset : Presets()) {
    if (preset.model.block_config == model.block_config &&
        preset.model.growth_rate == model.growth_rate &&
        preset.model.bottleneck == model.bottleneck &&
        preset.model.compression == model.compression &&
        preset.model.stem == model.stem) {
      return preset.name;
    }
  }
  const std::vector<int64_t>& blocks = model.block_config;
  std::string name = "densenet";
  if (model.bottleneck) name += model.compression < 1 ? "-bc" : "-b";
  const bool equal = std::all_of(blocks.begin(), blocks.end(), [&](int64_t b) {
    return b == blocks.front();
  });
  if (equal && blocks.size() == kCifarBlocks && model.stem == Stem::kCifar) {
    return fmt::format("{}-{}-{}", name, DepthOf(model), model.growth_rate);
  }
  return fmt::format("{}-{}-k{}", name, fmt::join(blocks, "-"),
                     model.growth_rate);
}

}  // namespace densenet
