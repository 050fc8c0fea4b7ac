#include "densenet/run_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "core/device.h"
#include "core/io/file.h"
#include "densenet/byte_size.h"
#include "densenet/class_weights.h"
#include "densenet/data/data_source.h"
#include "densenet/data/normalization.h"
#include "densenet/presets.h"

namespace densenet {
namespace {

constexpr double kDefaultCompression = 0.5;  // with bottleneck; else 1
constexpr std::string_view kAuto = "auto";
constexpr int64_t kCifarBlocks = 3;
constexpr int64_t kOtherDatasetEpochs = 40;  // the paper's for SVHN
// Far beyond what anybody trains, and far from where products of them leave
// int64.
constexpr int64_t kMaxEpochs = 1'000'000;
constexpr int64_t kMaxSteps = 1'000'000'000'000;
constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxImageSize = 4096;
constexpr int64_t kPhotoSize = 224;
constexpr int64_t kMaxLayers = 10'000;
constexpr int64_t kMaxChannels = 10'000;  // of growth and stem

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

StatusOr<LastBatch> ParseLastBatch(std::string_view name) {
  for (LastBatch last_batch :
       {LastBatch::kKeep, LastBatch::kDrop, LastBatch::kPad}) {
    if (name == Name(last_batch)) return last_batch;
  }
  return InvalidArgument(fmt::format(
      "unknown --last-batch '{}': expected keep, drop or pad", name));
}

std::string_view Name(Stem stem) {
  return stem == Stem::kImageNet ? "imagenet" : "cifar";
}

StatusOr<Stem> ParseStem(std::string_view name) {
  if (name == "cifar") return Stem::kCifar;
  if (name == "imagenet") return Stem::kImageNet;
  return InvalidArgument(
      fmt::format("unknown stem '{}': expected cifar or imagenet", name));
}

double DefaultCompression(bool bottleneck) {
  return bottleneck ? kDefaultCompression : 1.0;
}

int64_t DefaultStemChannels(const ModelConfig& model) {
  const bool compressed = model.bottleneck && model.compression < 1;
  return model.stem == Stem::kImageNet || compressed ? 2 * model.growth_rate
                                                     : 16;
}

Status AtLeast(std::string_view option, int64_t value, int64_t least) {
  if (value >= least) return OkStatus();
  return InvalidArgument(
      fmt::format("--{} {}: expected {} or more", option, value, least));
}

Status InRange(std::string_view option, int64_t value, int64_t most) {
  if (1 <= value && value <= most) return OkStatus();
  return InvalidArgument(
      fmt::format("--{} {}: expected 1 to {}", option, value, most));
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

// "64", or "auto".
StatusOr<int64_t> ParseBatch(const std::string& text) {
  if (text == kAuto) return kAutoBatch;
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
std::string_view DefaultNormalize(std::string_view dataset) {
  return IsStreamed(dataset) ? "imagenet" : "dataset";
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
  RETURN_IF_ERROR(AtLeast("max-bad", c.max_bad, 0));
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
  RETURN_IF_ERROR(AtLeast("image-size", c.image_size, 0));
  if (c.image_size > kMaxImageSize) {
    return InvalidArgument(fmt::format("--image-size {}: expected 1 to {}",
                                       c.image_size, kMaxImageSize));
  }
  c.model.image_height = c.image_size > 0 ? c.image_size : info.height;
  c.model.image_width = c.image_size > 0 ? c.image_size : info.width;
  c.model.image_channels = info.channels;
  c.model.classes = info.classes();
  c.augment = DefaultAugment(c.dataset);
  if (o.augment) {
    ASSIGN_OR_RETURN(c.augment, ParseAugmentKind(*o.augment));
  }
  c.normalize = o.normalize.value_or(std::string(DefaultNormalize(c.dataset)));
  RETURN_IF_ERROR(ParseNormalization(c.normalize, info.channels).status());
  c.validation = o.validation.value_or(0);
  RETURN_IF_ERROR(AtLeast("validation", c.validation, 0));
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
  if (c.prefetch != 0) RETURN_IF_ERROR(InRange("prefetch", c.prefetch, 1000));
  c.workers = o.workers.value_or(c.workers);
  if (c.workers != 0) {
    RETURN_IF_ERROR(InRange("workers", c.workers, kMaxThreads));
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
  RETURN_IF_ERROR(InRange("epochs", c.epochs, kMaxEpochs));
  c.steps_per_epoch = o.steps_per_epoch.value_or(0);
  c.max_steps = o.max_steps.value_or(0);
  for (auto [name, steps] : {std::pair("steps-per-epoch", c.steps_per_epoch),
                             std::pair("max-steps", c.max_steps)}) {
    if (steps != 0) RETURN_IF_ERROR(InRange(name, steps, kMaxSteps));
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
  if (o.strategy && *o.strategy != kAuto) {
    const StatusOr<Strategy> strategy = ParseStrategy(*o.strategy);
    if (!strategy.ok()) {
      return InvalidArgument(fmt::format(
          "{}, or {}", StdView(strategy.status().message()), kAuto));
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
  if (c.threads < 0 || c.threads > kMaxThreads) {
    return InvalidArgument(
        fmt::format("--threads {}: expected 1 to {}, or 0: one for each core",
                    c.threads, kMaxThreads));
  }
  c.eval_every = o.eval_every.value_or(c.eval_every);
  c.keep = o.keep.value_or(c.keep);
  c.checkpoint_every = o.checkpoint_every.value_or(c.checkpoint_every);
  c.checkpoint_minutes = o.checkpoint_minutes.value_or(c.checkpoint_minutes);
  RETURN_IF_ERROR(AtLeast("eval-every", c.eval_every, 1));
  RETURN_IF_ERROR(AtLeast("keep", c.keep, 1));
  RETURN_IF_ERROR(AtLeast("checkpoint-every", c.checkpoint_every, 0));
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

// Options that a continued run may change.
constexpr std::string_view kFree[] = {
    "preset",      "data",          "epochs",           "max-steps",
    "on-bad-data", "max-bad",       "prefetch",         "workers",
    "strategy",    "device",        "threads",          "eval-every",
    "keep",        "memory-budget", "checkpoint-every", "checkpoint-minutes"};

std::string ValueOr(const Json& json, const std::string& key) {
  return json.contains(key) ? DumpJson(json[key]) : "the default";
}

}  // namespace

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
  RETURN_IF_ERROR(InRange("growth", model.growth_rate, kMaxChannels));
  model.bottleneck = o.bottleneck.value_or(bottleneck);
  if (o.preset && model.bottleneck != bottleneck) {
    model.compression = DefaultCompression(model.bottleneck);
  }
  model.compression = o.compression.value_or(model.compression);
  if (o.stem) {
    ASSIGN_OR_RETURN(model.stem, ParseStem(*o.stem));
  }
  if (o.blocks) {
    for (int64_t layers : *o.blocks) {
      RETURN_IF_ERROR(InRange("blocks", layers, kMaxLayers));
    }
    model.block_config = *o.blocks;
  } else if (o.depth) {
    RETURN_IF_ERROR(InRange("depth", *o.depth, kMaxLayers));
    ASSIGN_OR_RETURN(ModelConfig sized,
                     CifarConfig(*o.depth, model.growth_rate, model.bottleneck,
                                 model.compression));
    model.block_config = sized.block_config;
  }
  model.stem_channels = o.stem_channels.value_or(DefaultStemChannels(model));
  RETURN_IF_ERROR(
      InRange("stem-channels", model.stem_channels, 2 * kMaxChannels));
  return model;
}

StatusOr<RunConfig> ResolveRunConfig(const RunOptions& o) {
  RunConfig c;
  ASSIGN_OR_RETURN(c.model, ResolveModel(o));
  c.preset = PresetOf(o, c.model);
  RETURN_IF_ERROR(ResolveData(o, c));
  const std::optional<Recipe> paper =
      PaperRecipe(c.dataset, c.augment != AugmentKind::kNone);
  Recipe recipe = paper.value_or(Recipe{.epochs = kOtherDatasetEpochs});
  if (!paper || c.preset.empty()) recipe.dropout = 0;
  c.model.dropout = o.dropout.value_or(recipe.dropout);
  RETURN_IF_ERROR(ValidateModelConfig(c.model));
  RETURN_IF_ERROR(ResolveOptimization(o, recipe, c));
  RETURN_IF_ERROR(ResolveMachineAndFolder(o, c));
  return c;
}

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
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
    const int64_t depth =
        kCifarBlocks * blocks.front() * (model.bottleneck ? 2 : 1) + 4;
    return fmt::format("{}-{}-{}", name, depth, model.growth_rate);
  }
  return fmt::format("{}-{}-k{}", name, fmt::join(blocks, "-"),
                     model.growth_rate);
}

Json ToJson(const RunConfig& c) {
  Json json;
  if (!c.preset.empty()) json["preset"] = c.preset;
  json["blocks"] = c.model.block_config;
  json["growth"] = c.model.growth_rate;
  json["bottleneck"] = c.model.bottleneck;
  // What follows from other options is left to them, so that a file with one
  // of them changed on the command line still makes sense.
  if (c.model.compression != DefaultCompression(c.model.bottleneck)) {
    json["compression"] = c.model.compression;
  }
  json["dropout"] = c.model.dropout;
  json["stem"] = Name(c.model.stem);
  if (c.model.stem_channels != DefaultStemChannels(c.model)) {
    json["stem-channels"] = c.model.stem_channels;
  }
  json["dataset"] = c.dataset;
  if (!c.data.empty()) json["data"] = c.data;
  if (c.image_key) json["image-key"] = *c.image_key;
  if (c.label_key) json["label-key"] = *c.label_key;
  if (c.label_offset) json["label-offset"] = *c.label_offset;
  if (c.image_size > 0) json["image-size"] = c.image_size;
  json["augment"] = Name(c.augment);
  if (c.normalize != DefaultNormalize(c.dataset)) {
    json["normalize"] = c.normalize;
  }
  json["validation"] = c.validation;
  if (c.last_batch != LastBatch::kKeep) {
    json["last-batch"] = Name(c.last_batch);
  }
  if (c.skip_bad_data) {
    json["on-bad-data"] = "skip";
    json["max-bad"] = c.max_bad;
  }
  json["prefetch"] = c.prefetch;
  json["workers"] = c.workers;
  json["batch"] = c.batch == kAutoBatch ? Json(kAuto) : Json(c.batch);
  json["epochs"] = c.epochs;
  if (c.steps_per_epoch > 0) json["steps-per-epoch"] = c.steps_per_epoch;
  if (c.max_steps > 0) json["max-steps"] = c.max_steps;
  json["optimizer"] = c.optimizer.name;
  json["lr"] = c.schedule.learning_rate;
  json["schedule"] = c.schedule.name;
  if (c.schedule.name == "step") json["milestones"] = c.schedule.milestones;
  // As the user wrote it, not the nearest float's 17 digits.
  json["weight-decay"] =
      Json::parse(fmt::format("{}", c.optimizer.weight_decay));
  json["momentum"] = Json::parse(fmt::format("{}", c.optimizer.momentum));
  if (c.label_smoothing > 0) json["label-smoothing"] = c.label_smoothing;
  if (!c.class_weights.empty()) json["class-weights"] = c.class_weights;
  json["seed"] = c.seed;
  json["strategy"] = c.strategy ? Name(*c.strategy) : kAuto;
  if (c.memory_budget_bytes > 0) {
    json["memory-budget"] = std::to_string(c.memory_budget_bytes);
  }
  json["device"] = c.device;
  json["threads"] = c.threads;
  json["eval-every"] = c.eval_every;
  json["keep"] = c.keep;
  json["checkpoint-every"] = c.checkpoint_every;
  json["checkpoint-minutes"] = c.checkpoint_minutes;
  return json;
}

Json ToJson(const ModelConfig& m) {
  Json json;
  json["block_config"] = m.block_config;
  json["growth_rate"] = m.growth_rate;
  json["bottleneck"] = m.bottleneck;
  json["compression"] = m.compression;
  json["dropout"] = m.dropout;
  json["stem"] = Name(m.stem);
  json["stem_channels"] = m.stem_channels;
  json["image_height"] = m.image_height;
  json["image_width"] = m.image_width;
  json["image_channels"] = m.image_channels;
  json["classes"] = m.classes;
  json["batch_norm_epsilon"] = m.batch_norm_epsilon;
  json["batch_norm_momentum"] = m.batch_norm_momentum;
  return json;
}

StatusOr<ModelConfig> ModelConfigFromJson(const Json& json) {
  ModelConfig m;
  // nlohmann reports a missing key or another type by an exception.
  try {
    json.at("block_config").get_to(m.block_config);
    json.at("growth_rate").get_to(m.growth_rate);
    json.at("bottleneck").get_to(m.bottleneck);
    json.at("compression").get_to(m.compression);
    json.at("dropout").get_to(m.dropout);
    ASSIGN_OR_RETURN(m.stem, ParseStem(json.at("stem").get<std::string>()));
    json.at("stem_channels").get_to(m.stem_channels);
    json.at("image_height").get_to(m.image_height);
    json.at("image_width").get_to(m.image_width);
    json.at("image_channels").get_to(m.image_channels);
    json.at("classes").get_to(m.classes);
    json.at("batch_norm_epsilon").get_to(m.batch_norm_epsilon);
    json.at("batch_norm_momentum").get_to(m.batch_norm_momentum);
  } catch (const nlohmann::json::exception& e) {
    return InvalidArgument(fmt::format("model configuration: {}", e.what()));
  }
  if (json.size() != ToJson(m).size()) {
    return InvalidArgument(
        "model configuration: unknown keys; written by a later version?");
  }
  RETURN_IF_ERROR(ValidateModelConfig(m));
  return m;
}

std::vector<std::string> DifferencesFrom(const Json& run, const Json& now) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : now.items()) keys.push_back(key);
  for (const auto& [key, value] : run.items()) {
    if (!now.contains(key)) keys.push_back(key);
  }
  std::vector<std::string> differences;
  for (const std::string& key : keys) {
    if (std::find(std::begin(kFree), std::end(kFree), key) != std::end(kFree)) {
      continue;
    }
    const std::string then = ValueOr(run, key);
    const std::string today = ValueOr(now, key);
    if (then == today) continue;
    differences.push_back(
        fmt::format("{}: {} in the run folder, {} now", key, then, today));
  }
  return differences;
}

bool Overrules(const std::string& key, const std::string& file_key) {
  auto is_one_of = [&](std::initializer_list<std::string_view> keys) {
    return std::find(keys.begin(), keys.end(), file_key) != keys.end();
  };
  if (key == "preset") {
    return is_one_of({"depth", "blocks", "growth", "bottleneck", "compression",
                      "dropout", "stem", "stem-channels"});
  }
  if (key == "depth") return is_one_of({"blocks"});
  if (key == "blocks") return is_one_of({"depth"});
  return false;
}

}  // namespace densenet
