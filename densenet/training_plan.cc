#include "densenet/training_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cpu/cpu_info.h"
#include "densenet/byte_size.h"
#include "densenet/largest_fitting.h"

namespace densenet {
namespace {

int64_t Elems(const std::vector<ParameterSpec>& specs) {
  int64_t elems = 0;
  for (const ParameterSpec& spec : specs) elems += spec.shape.elems();
  return elems;
}

// What "auto" may fill, and where the number is from.
struct Room {
  int64_t bytes = 0;
  std::string origin;
};

StatusOr<Room> AutomaticRoom(const RunConfig& config, int64_t taken_bytes) {
  if (config.memory_budget_bytes > 0) {
    return Room{config.memory_budget_bytes,
                fmt::format("--memory-budget {}",
                            FormatByteSize(config.memory_budget_bytes))};
  }
  // The rest is for what else the machine does.
  constexpr double kShare = 0.9;
  const int64_t available = GetCpuInfo().available_bytes;
  if (available == 0) {
    return FailedPrecondition(
        "how much memory is free is not known here (/proc/meminfo): give "
        "--memory-budget, or --strategy and --batch other than auto");
  }
  const int64_t free_bytes = available + taken_bytes;
  return Room{static_cast<int64_t>(kShare * static_cast<double>(free_bytes)),
              fmt::format("nine tenths of the {} that are free",
                          FormatByteSize(free_bytes))};
}

// The largest batch in [1, most] whose plan is within `bytes`; 0: none.
StatusOr<int64_t> LargestBatch(const Context& ctx, const RunConfig& config,
                               const TrainingSizes& sizes,
                               ParameterStore& store, Strategy strategy,
                               int64_t most, int64_t bytes) {
  return LargestFitting(most, [&](int64_t batch) -> StatusOr<bool> {
    ASSIGN_OR_RETURN(const TrainingPlan plan,
                     PlanTraining(ctx, config, sizes, store, strategy, batch));
    return plan.total_bytes() <= bytes;
  });
}

// Of a strategy that was asked for but does not fit: "; --strategy S needs B".
StatusOr<std::string> WhatWouldFit(const Context& ctx, const RunConfig& config,
                                   const TrainingSizes& sizes,
                                   ParameterStore& store, int64_t batch,
                                   int64_t bytes) {
  std::string fitting;
  for (Strategy strategy : AllStrategies()) {
    ASSIGN_OR_RETURN(const TrainingPlan whole,
                     PlanTraining(ctx, config, sizes, store, strategy, batch));
    if (whole.total_bytes() <= bytes) {
      fitting += fmt::format("; --strategy {} needs {}", Name(strategy),
                             FormatByteSize(whole.total_bytes()));
      continue;
    }
    ASSIGN_OR_RETURN(
        const int64_t fits,
        LargestBatch(ctx, config, sizes, store, strategy, batch - 1, bytes));
    if (fits > 0) {
      fitting += fmt::format("; with --strategy {} --batch {} would fit",
                             Name(strategy), fits);
    }
  }
  return fitting.empty() ? "; no strategy fits at any batch" : fitting;
}

}  // namespace

int64_t TrainingPlan::arena_bytes() const {
  return std::max(train_arena_bytes, evaluation_arena_bytes);
}

int64_t TrainingPlan::total_bytes() const {
  return arena_bytes() + parameter_bytes + optimizer_bytes + input_bytes +
         data_bytes;
}

std::string TrainingPlan::ToString() const {
  return fmt::format(
      "{} = activations {} + parameters and gradients {} + optimizer {} + "
      "batches {} + data set {}",
      FormatByteSize(total_bytes()), FormatByteSize(arena_bytes()),
      FormatByteSize(parameter_bytes), FormatByteSize(optimizer_bytes),
      FormatByteSize(input_bytes), FormatByteSize(data_bytes));
}

int64_t ParameterBytes(const ModelConfig& model) {
  return 4 * (2 * Elems(ParameterSpecs(model)) + Elems(StatisticsSpecs(model)));
}

int64_t OptimizerBytes(const ModelConfig& model, int slots) {
  return 4 * slots * Elems(ParameterSpecs(model));
}

int64_t MemoryLimitBytes(const RunConfig& config) {
  return config.memory_budget_bytes > 0 ? config.memory_budget_bytes
                                        : GetCpuInfo().total_bytes;
}

StatusOr<TrainingPlan> PlanTraining(const Context& ctx, const RunConfig& config,
                                    const TrainingSizes& sizes,
                                    ParameterStore& store, Strategy strategy,
                                    int64_t batch) {
  const int64_t train_batch = config.last_batch == LastBatch::kPad
                                  ? batch
                                  : std::min(batch, sizes.train_examples);
  const int64_t test_batch = std::min(batch, sizes.test_examples);
  const int64_t validation_batch = std::min(batch, sizes.validation_examples);
  TrainingPlan plan;
  plan.batch = train_batch;
  Network::Options options;
  options.strategy = strategy;
  options.max_batch = train_batch;
  options.freeze_features = config.freeze_features;
  if (!config.class_weights.empty()) {  // which they are is not planned
    options.class_weights.assign(static_cast<size_t>(config.model.classes), 1);
  }
  ASSIGN_OR_RETURN(auto train,
                   Network::Create(ctx, config.model, options, store));
  plan.train_arena_bytes = train->plan().arena_bytes();
  options.mode = Network::Mode::kEvaluate;
  options.max_batch = std::max(test_batch, validation_batch);
  ASSIGN_OR_RETURN(auto evaluation,
                   Network::Create(ctx, config.model, options, store));
  plan.evaluation_arena_bytes = evaluation->plan().arena_bytes();
  plan.parameter_bytes = ParameterBytes(config.model);
  plan.optimizer_bytes = OptimizerBytes(config.model, sizes.slots);
  plan.data_bytes = sizes.data_bytes;
  const int64_t image_elems = config.model.image_height *
                              config.model.image_width *
                              config.model.image_channels;
  const auto input_bytes = [&](int64_t examples, int64_t workspace_bytes) {
    return BatchLoader::PlannedBytes(examples, image_elems, workspace_bytes,
                                     sizes.loader);
  };
  plan.input_bytes =
      std::max({input_bytes(train_batch, sizes.train_workspace_bytes),
                input_bytes(validation_batch, sizes.validation_workspace_bytes),
                input_bytes(test_batch, sizes.test_workspace_bytes)});
  return plan;
}

StatusOr<std::vector<std::string>> ResolveAuto(const Context& ctx,
                                               const TrainingSizes& sizes,
                                               ParameterStore& store,
                                               RunConfig& config) {
  std::vector<std::string> reasons;
  const bool automatic_batch = config.batch == kAutoBatch;
  if (config.strategy && !automatic_batch) return reasons;
  ASSIGN_OR_RETURN(
      const Room room,
      AutomaticRoom(config, sizes.data_bytes + ParameterBytes(config.model) +
                                OptimizerBytes(config.model, sizes.slots)));
  if (!config.strategy && automatic_batch) {
    config.strategy = Strategy::kFeaturesOnly;
    reasons.emplace_back(
        "strategy features-only: it holds the largest --batch auto");
  } else if (!config.strategy) {
    ASSIGN_OR_RETURN(const TrainingPlan fused,
                     PlanTraining(ctx, config, sizes, store, Strategy::kFused,
                                  config.batch));
    const bool fits = fused.total_bytes() <= room.bytes;
    config.strategy = fits ? Strategy::kFused : Strategy::kFeaturesOnly;
    reasons.push_back(
        fmt::format("strategy {}: the plan of fused, {}, {} within {}",
                    Name(*config.strategy), FormatByteSize(fused.total_bytes()),
                    fits ? "is" : "is not", room.origin));
  }
  if (!automatic_batch) return reasons;
  const int64_t most = std::min(kMaxBatch, sizes.train_examples);
  ASSIGN_OR_RETURN(const int64_t batch,
                   LargestBatch(ctx, config, sizes, store, *config.strategy,
                                most, room.bytes));
  if (batch == 0) {
    return ResourceExhausted(fmt::format(
        "--batch auto: with --strategy {} not even one image fits into {}",
        Name(*config.strategy), room.origin));
  }
  config.batch = batch;
  reasons.push_back(
      batch == most ? fmt::format("batch {}: all training images fit into {}",
                                  batch, room.origin)
                    : fmt::format("batch {}: the largest that {} fits into {}",
                                  batch, Name(*config.strategy), room.origin));
  return reasons;
}

Status CheckBudget(const Context& ctx, const RunConfig& config,
                   const TrainingSizes& sizes, const TrainingPlan& plan,
                   ParameterStore& store) {
  const int64_t budget = MemoryLimitBytes(config);
  if (budget == 0 || plan.total_bytes() <= budget) return OkStatus();
  ASSIGN_OR_RETURN(const std::string fitting,
                   WhatWouldFit(ctx, config, sizes, store, plan.batch, budget));
  return ResourceExhausted(
      fmt::format("{} is {} bytes ({}); --strategy {} with --batch {} plans "
                  "{} bytes ({}){}",
                  config.memory_budget_bytes > 0 ? "--memory-budget"
                                                 : "the memory of this machine",
                  budget, FormatByteSize(budget), Name(*config.strategy),
                  plan.batch, plan.total_bytes(), plan.ToString(), fitting));
}

}  // namespace densenet
