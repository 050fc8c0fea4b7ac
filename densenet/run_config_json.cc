#include <fmt/format.h>

#include <algorithm>

#include "absl/time/time.h"
#include "densenet/json_field.h"
#include "densenet/run_config.h"

namespace densenet {
namespace {

// Options that a continued run may change.
constexpr std::string_view kFree[] = {
    "preset",      "data",          "init-from",        "epochs",
    "max-steps",   "patience",      "max-time",         "keep-every",
    "on-bad-data", "max-bad",       "prefetch",         "workers",
    "strategy",    "device",        "threads",          "eval-every",
    "keep",        "memory-budget", "checkpoint-every", "checkpoint-minutes"};

std::string ValueOr(const Json& json, const std::string& key) {
  return json.contains(key) ? DumpJson(json[key]) : "the default";
}

}  // namespace

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
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
  if (c.model.batch_norm_epsilon != ModelConfig().batch_norm_epsilon) {
    json["bn-epsilon"] = c.model.batch_norm_epsilon;
  }
  // Of a network that the run starts from, it may be that of other images.
  if (c.normalize != RecipeOf(c).normalize || !c.init_from.empty()) {
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
  json["batch"] = c.batch == kAutoBatch ? Json(kAutoOption) : Json(c.batch);
  json["epochs"] = c.epochs;
  if (c.steps_per_epoch > 0) json["steps-per-epoch"] = c.steps_per_epoch;
  if (c.max_steps > 0) json["max-steps"] = c.max_steps;
  if (c.initial_epoch > 0) json["initial-epoch"] = c.initial_epoch;
  if (c.patience > 0) json["patience"] = c.patience;
  if (c.max_seconds > 0) {
    json["max-time"] = absl::FormatDuration(absl::Seconds(c.max_seconds));
  }
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
  if (!c.init_from.empty()) {
    json["init-from"] = c.init_from;
    json["init-digest"] = c.init_digest;
  }
  if (c.freeze_features) json["freeze-features"] = true;
  json["strategy"] = c.strategy ? Name(*c.strategy) : kAutoOption;
  if (c.memory_budget_bytes > 0) {
    json["memory-budget"] = std::to_string(c.memory_budget_bytes);
  }
  json["device"] = c.device;
  json["threads"] = c.threads;
  json["eval-every"] = c.eval_every;
  json["keep"] = c.keep;
  if (c.keep_every > 0) json["keep-every"] = c.keep_every;
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

namespace {

Status ReadFields(const Json& json, ModelConfig* m) {
  std::string stem;
  RETURN_IF_ERROR(ReadField(json, "block_config", &m->block_config));
  RETURN_IF_ERROR(ReadField(json, "growth_rate", &m->growth_rate));
  RETURN_IF_ERROR(ReadField(json, "bottleneck", &m->bottleneck));
  RETURN_IF_ERROR(ReadField(json, "compression", &m->compression));
  RETURN_IF_ERROR(ReadField(json, "dropout", &m->dropout));
  RETURN_IF_ERROR(ReadField(json, "stem", &stem));
  ASSIGN_OR_RETURN(m->stem, ParseStem(stem));
  RETURN_IF_ERROR(ReadField(json, "stem_channels", &m->stem_channels));
  RETURN_IF_ERROR(ReadField(json, "image_height", &m->image_height));
  RETURN_IF_ERROR(ReadField(json, "image_width", &m->image_width));
  RETURN_IF_ERROR(ReadField(json, "image_channels", &m->image_channels));
  RETURN_IF_ERROR(ReadField(json, "classes", &m->classes));
  RETURN_IF_ERROR(
      ReadField(json, "batch_norm_epsilon", &m->batch_norm_epsilon));
  return ReadField(json, "batch_norm_momentum", &m->batch_norm_momentum);
}

}  // namespace

StatusOr<ModelConfig> ModelConfigFromJson(const Json& json) {
  ModelConfig m;
  const Status status = ReadFields(json, &m);
  if (!status.ok()) return Annotate(status, "model configuration");
  const Json known = ToJson(m);
  for (const auto& [key, value] : json.items()) {
    if (known.contains(key)) continue;
    return InvalidArgument(fmt::format(
        "model configuration: unknown key '{}'; written by a later version?",
        key));
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
                      "dropout", "stem", "stem-channels", "bn-epsilon"});
  }
  if (key == "depth") return is_one_of({"blocks"});
  if (key == "blocks") return is_one_of({"depth"});
  return false;
}

}  // namespace densenet
