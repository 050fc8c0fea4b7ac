#include "densenet/checkpoint_average.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace densenet {
namespace {

Status CheckSame(const Checkpoint& a, const Checkpoint& b, const Json& of_a,
                 const Json& of_b) {
  for (const auto& [key, value] : of_a.items()) {
    const Json other = of_b.value(key, Json());
    if (value == other) continue;
    return InvalidArgument(
        fmt::format("only checkpoints of one network have an average: {} is {} "
                    "in {} and {} in {}",
                    key, DumpJson(value), a.path(), DumpJson(other), b.path()));
  }
  return OkStatus();
}

Json WhatMustAgree(const DataDescription& data) {
  return {{"classes", data.class_names},
          {"mean", data.normalization.mean},
          {"std", data.normalization.std}};
}

void AddTo(std::vector<double>& sums, absl::Span<const float> values) {
  sums.resize(values.size(), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    sums[i] += static_cast<double>(values[i]);
  }
}

void Divide(const std::vector<double>& sums, size_t count,
            absl::Span<float> means) {
  for (size_t i = 0; i < sums.size(); ++i) {
    means[i] = static_cast<float>(sums[i] / static_cast<double>(count));
  }
}

}  // namespace

StatusOr<AveragedNetwork> AverageCheckpoints(
    MemoryResource& memory, const std::vector<Checkpoint>& checkpoints) {
  if (checkpoints.size() < 2) {
    return InvalidArgument("an average takes two checkpoints or more");
  }
  const Checkpoint& first = checkpoints.front();
  for (const Checkpoint& other : checkpoints) {
    RETURN_IF_ERROR(CheckSame(first, other, ToJson(first.info().model),
                              ToJson(other.info().model)));
    RETURN_IF_ERROR(CheckSame(first, other, WhatMustAgree(first.info().data),
                              WhatMustAgree(other.info().data)));
  }
  const ModelConfig& model = first.info().model;
  AveragedNetwork average;
  ASSIGN_OR_RETURN(average.store,
                   ParameterStore::Create(memory, ParameterSpecs(model),
                                          StatisticsSpecs(model), /*slots=*/0));
  ParameterStore& store = *average.store;
  std::vector<double> values, statistics;
  Json names = Json::array();
  for (const Checkpoint& checkpoint : checkpoints) {
    RETURN_IF_ERROR(checkpoint.ReadNetwork(store));
    AddTo(values, store.values());
    AddTo(statistics, store.statistics_values());
    names.push_back(
        std::filesystem::path(checkpoint.path()).filename().string());
  }
  Divide(values, checkpoints.size(), store.values());
  Divide(statistics, checkpoints.size(), store.statistics_values());
  const auto last = std::max_element(
      checkpoints.begin(), checkpoints.end(),
      [](const Checkpoint& a, const Checkpoint& b) {
        return a.info().progress.global_step < b.info().progress.global_step;
      });
  average.info = last->info();
  average.info.progress = {};
  average.info.progress.global_step = last->info().progress.global_step;
  average.info.progress.epoch = last->info().progress.epoch;
  average.info.run["average-of"] = std::move(names);
  return average;
}

}  // namespace densenet
