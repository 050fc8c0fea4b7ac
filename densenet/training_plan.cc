#include "densenet/training_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cpu/cpu_info.h"
#include "densenet/byte_size.h"

namespace densenet {
namespace {

int64_t Elems(const std::vector<ParameterSpec>& specs) {
  int64_t elems = 0;
  for (const ParameterSpec& spec : specs) elems += spec.shape.elems();
  return elems;
}

// `plan` with another strategy and batch.
StatusOr<TrainingPlan> PlanFor(const Context& ctx, const RunConfig& config,
                               const TrainingPlan& plan, ParameterStore& store,
                               Strategy strategy, int64_t batch) {
  TrainingPlan other = plan;
  Network::Options options;
  options.max_batch = batch;
  options.strategy = strategy;
  ASSIGN_OR_RETURN(auto train,
                   Network::Create(ctx, config.model, options, store));
  other.train_arena_bytes = train->plan().arena_bytes();
  if (batch == plan.batch) return other;
  other.batch = batch;
  other.input_bytes = plan.input_bytes / plan.batch * batch;
  options.mode = Network::Mode::kEvaluate;
  ASSIGN_OR_RETURN(auto evaluation,
                   Network::Create(ctx, config.model, options, store));
  other.evaluation_arena_bytes = evaluation->plan().arena_bytes();
  return other;
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

StatusOr<Strategy> ChooseStrategy(const Context& ctx, const RunConfig& config,
                                  const TrainingPlan& plan,
                                  ParameterStore& store) {
  const int64_t budget = config.memory_budget_bytes > 0
                             ? config.memory_budget_bytes
                             : GetCpuInfo().available_bytes;
  ASSIGN_OR_RETURN(
      const TrainingPlan fused,
      PlanFor(ctx, config, plan, store, Strategy::kFused, plan.batch));
  return fused.total_bytes() <= budget ? Strategy::kFused
                                       : Strategy::kFeaturesOnly;
}

Status CheckBudget(const Context& ctx, const RunConfig& config,
                   const TrainingPlan& plan, ParameterStore& store) {
  const int64_t budget = MemoryLimitBytes(config);
  if (budget == 0 || plan.total_bytes() <= budget) return OkStatus();
  std::string fitting;
  for (Strategy strategy : AllStrategies()) {
    ASSIGN_OR_RETURN(TrainingPlan whole,
                     PlanFor(ctx, config, plan, store, strategy, plan.batch));
    if (whole.total_bytes() <= budget) {
      fitting += fmt::format("; --strategy {} needs {}", Name(strategy),
                             FormatByteSize(whole.total_bytes()));
      continue;
    }
    // The largest batch that fits lies in [fits, too_large).
    int64_t fits = 0;
    int64_t too_large = plan.batch;
    while (too_large - fits > 1) {
      const int64_t batch = fits + (too_large - fits) / 2;
      ASSIGN_OR_RETURN(TrainingPlan part,
                       PlanFor(ctx, config, plan, store, strategy, batch));
      (part.total_bytes() <= budget ? fits : too_large) = batch;
    }
    if (fits > 0) {
      fitting += fmt::format("; with --strategy {} --batch {} would fit",
                             Name(strategy), fits);
    }
  }
  if (fitting.empty()) fitting = "; no strategy fits at any batch";
  return ResourceExhausted(
      fmt::format("{} is {} bytes ({}); --strategy {} with --batch {} plans "
                  "{} bytes ({}){}",
                  config.memory_budget_bytes > 0 ? "--memory-budget"
                                                 : "the memory of this machine",
                  budget, FormatByteSize(budget), Name(*config.strategy),
                  plan.batch, plan.total_bytes(), plan.ToString(), fitting));
}

}  // namespace densenet
