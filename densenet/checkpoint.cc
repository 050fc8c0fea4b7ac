#include "densenet/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>

#include <utility>

#include "densenet/json_field.h"

namespace densenet {
namespace {

std::string ParameterName(const std::string& name) {
  return "parameters/" + name;
}
std::string StatisticName(const std::string& name) {
  return "statistics/" + name;
}
std::string SlotName(const std::string& slot, const std::string& name) {
  return fmt::format("optimizer/{}/{}", slot, name);
}

// Calls visit(name, field) for every field of TrainingProgress but the clocks:
// the tensors of two runs that computed the same are the same.
template <typename Progress, typename Visit>
void ForEachCounter(Progress& p, Visit visit) {
  visit("counters/global_step", p.global_step);
  visit("counters/epoch", p.epoch);
  visit("counters/batch", p.batch);
  visit("counters/loss_sum", p.loss_sum);
  visit("counters/correct", p.correct);
  visit("counters/examples", p.examples);
  visit("counters/total_examples", p.total_examples);
  visit("counters/best_error", p.best_error);
  visit("counters/best_step", p.best_step);
  visit("counters/correct_top5", p.correct_top5);
  visit("counters/skipped", p.skipped);
  visit("counters/stale_evaluations", p.stale_evaluations);
}

// Checkpoints from before these were counted are read too.
bool IsLaterCounter(std::string_view name) {
  return name == "counters/correct_top5" || name == "counters/skipped" ||
         name == "counters/stale_evaluations";
}

// The JSON text under a metadata key.
StatusOr<Json> ParseMetadata(const SafetensorsFile& file,
                             const std::string& key) {
  auto it = file.metadata().find(key);
  if (it == file.metadata().end()) {
    return InvalidArgument(fmt::format(
        "{} is no checkpoint of a training run: its metadata has no '{}'",
        file.path(), key));
  }
  Json json = Json::parse(it->second, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return DataLoss(
        fmt::format("{}: metadata '{}' is no JSON object", file.path(), key));
  }
  return json;
}

Status CheckTensor(const SafetensorsFile& file, const std::string& name,
                   const Shape& shape) {
  auto it = file.tensors().find(name);
  if (it == file.tensors().end()) {
    return DataLoss(
        fmt::format("{}: tensor '{}' is missing", file.path(), name));
  }
  const SafetensorsEntry& entry = it->second;
  if (entry.dtype != DType::kFloat32 ||
      absl::MakeConstSpan(entry.shape) != shape.dims()) {
    return DataLoss(fmt::format(
        "{}: tensor '{}' is {}, its model configuration says F32 {}",
        file.path(), name, entry.ToString(), shape.ToString()));
  }
  return OkStatus();
}

}  // namespace

Json ToJson(const DataDescription& data) {
  Json json;
  json["dataset"] = data.dataset;
  json["train_examples"] = data.train_examples;
  json["class_names"] = data.class_names;
  json["mean"] = data.normalization.mean;
  json["std"] = data.normalization.std;
  if (data.digest != 0) json["digest"] = data.digest;
  return json;
}

namespace {

Status ReadFields(const Json& json, DataDescription* data) {
  RETURN_IF_ERROR(ReadField(json, "dataset", &data->dataset));
  RETURN_IF_ERROR(ReadField(json, "train_examples", &data->train_examples));
  RETURN_IF_ERROR(ReadField(json, "class_names", &data->class_names));
  RETURN_IF_ERROR(ReadField(json, "mean", &data->normalization.mean));
  RETURN_IF_ERROR(ReadField(json, "std", &data->normalization.std));
  if (!json.contains("digest")) return OkStatus();
  return ReadField(json, "digest", &data->digest);
}

}  // namespace

StatusOr<DataDescription> DataDescriptionFromJson(const Json& json) {
  DataDescription data;
  const Status status = ReadFields(json, &data);
  if (!status.ok()) return Annotate(status, "data description");
  return data;
}

Status SaveCheckpoint(const std::string& path, const CheckpointInfo& info,
                      ParameterStore& store,
                      const std::vector<std::string>& slot_names) {
  CHECK_EQ(static_cast<int>(slot_names.size()), store.slots());
  std::vector<SafetensorsItem> items;
  const int64_t parameters = static_cast<int64_t>(store.parameters().size());
  for (int64_t i = 0; i < parameters; ++i) {
    items.push_back(
        {ParameterName(store.parameters()[i].name), store.value(i)});
  }
  for (size_t i = 0; i < store.statistics().size(); ++i) {
    items.push_back({StatisticName(store.statistics()[i].name),
                     store.statistic(static_cast<int64_t>(i))});
  }
  for (int s = 0; s < store.slots(); ++s) {
    for (int64_t i = 0; i < parameters; ++i) {
      items.push_back({SlotName(slot_names[s], store.parameters()[i].name),
                       store.slot(s, i)});
    }
  }
  ForEachCounter(info.progress, [&](const char* name, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    items.push_back(
        {name, ConstTensorView(&value, DTypeOf<T>::kValue, Shape{})});
  });
  const Json clock = {{"seconds", info.progress.seconds},
                      {"total_seconds", info.progress.total_seconds}};
  const SafetensorsMetadata metadata = {
      {kClockMetadata, DumpJson(clock)},
      {kModelMetadata, DumpJson(densenet::ToJson(info.model))},
      {kDataMetadata, DumpJson(densenet::ToJson(info.data))},
      {kRunMetadata, DumpJson(info.run)}};
  return WriteSafetensors(path, items, metadata);
}

StatusOr<Checkpoint> Checkpoint::Open(const std::string& path) {
  ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path));
  Checkpoint checkpoint(std::move(file));
  RETURN_IF_ERROR(checkpoint.ReadMetadata());
  RETURN_IF_ERROR(checkpoint.ReadProgress());
  RETURN_IF_ERROR(checkpoint.CheckTensors());
  return checkpoint;
}

Status Checkpoint::ReadMetadata() {
  ASSIGN_OR_RETURN(const Json model, ParseMetadata(file_, kModelMetadata));
  ASSIGN_OR_RETURN(const Json data, ParseMetadata(file_, kDataMetadata));
  ASSIGN_OR_RETURN(info_.run, ParseMetadata(file_, kRunMetadata));
  StatusOr<ModelConfig> config = ModelConfigFromJson(model);
  if (!config.ok()) return Annotate(config.status(), path());
  info_.model = *config;
  StatusOr<DataDescription> description = DataDescriptionFromJson(data);
  if (!description.ok()) return Annotate(description.status(), path());
  info_.data = *std::move(description);
  const int64_t names = static_cast<int64_t>(info_.data.class_names.size());
  const int64_t channels = info_.model.image_channels;
  if (names != info_.model.classes ||
      static_cast<int64_t>(info_.data.normalization.mean.size()) != channels ||
      static_cast<int64_t>(info_.data.normalization.std.size()) != channels) {
    return DataLoss(fmt::format(
        "{}: {} class names, {} means and {} deviations for a model of {} "
        "classes and {} image channels",
        path(), names, info_.data.normalization.mean.size(),
        info_.data.normalization.std.size(), info_.model.classes, channels));
  }
  return OkStatus();
}

Status Checkpoint::ReadProgress() {
  ASSIGN_OR_RETURN(const Json clock, ParseMetadata(file_, kClockMetadata));
  Status status = ReadField(clock, "seconds", &info_.progress.seconds);
  status.Update(
      ReadField(clock, "total_seconds", &info_.progress.total_seconds));
  if (!status.ok()) {
    return DataLoss(
        fmt::format("{}: clock: {}", path(), StdView(status.message())));
  }
  ForEachCounter(info_.progress, [&](const std::string& name, auto& value) {
    using T = std::decay_t<decltype(value)>;
    if (!status.ok()) return;
    if (!file_.Contains(name) && IsLaterCounter(name)) return;
    if (!file_.Contains(name)) {
      status =
          DataLoss(fmt::format("{}: tensor '{}' is missing", path(), name));
      return;
    }
    status = file_.Read(name, TensorView(&value, DTypeOf<T>::kValue, Shape{}));
  });
  return status;
}

Status Checkpoint::CheckTensors() const {
  for (const ParameterSpec& spec : ParameterSpecs(info_.model)) {
    RETURN_IF_ERROR(CheckTensor(file_, ParameterName(spec.name), spec.shape));
  }
  for (const ParameterSpec& spec : StatisticsSpecs(info_.model)) {
    RETURN_IF_ERROR(CheckTensor(file_, StatisticName(spec.name), spec.shape));
  }
  return OkStatus();
}

Status Checkpoint::ReadNetwork(ParameterStore& store) const {
  return ReadTensors(store, /*classifier=*/true);
}

Status Checkpoint::ReadFeatures(ParameterStore& store) const {
  return ReadTensors(store, /*classifier=*/false);
}

Status Checkpoint::ReadTensors(ParameterStore& store, bool classifier) const {
  for (size_t i = 0; i < store.parameters().size(); ++i) {
    const int64_t index = static_cast<int64_t>(i);
    if (!classifier && IsOfClassifier(store.parameters()[i].name)) continue;
    RETURN_IF_ERROR(file_.Read(ParameterName(store.parameters()[i].name),
                               store.value(index)));
  }
  for (size_t i = 0; i < store.statistics().size(); ++i) {
    const int64_t index = static_cast<int64_t>(i);
    RETURN_IF_ERROR(file_.Read(StatisticName(store.statistics()[i].name),
                               store.statistic(index)));
  }
  return OkStatus();
}

Status Checkpoint::ReadAll(ParameterStore& store,
                           const std::vector<std::string>& slot_names) const {
  CHECK_EQ(static_cast<int>(slot_names.size()), store.slots());
  RETURN_IF_ERROR(ReadNetwork(store));
  for (int s = 0; s < store.slots(); ++s) {
    for (size_t i = 0; i < store.parameters().size(); ++i) {
      const ParameterSpec& spec = store.parameters()[i];
      const std::string name = SlotName(slot_names[s], spec.name);
      RETURN_IF_ERROR(CheckTensor(file_, name, spec.shape));
      RETURN_IF_ERROR(file_.Read(name, store.slot(s, static_cast<int64_t>(i))));
    }
  }
  return OkStatus();
}

}  // namespace densenet
