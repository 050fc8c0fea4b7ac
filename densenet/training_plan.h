// densenet/training_plan.h
//
// The memory plan of a training run: the arena of a step, which evaluation
// shares, and what lives all along: parameters with their gradients, the
// optimizer's slots, the batches being prepared, the data set.
//
// Memory   none; networks are laid out, not allocated
// Errors   ResourceExhausted  the plan exceeds the budget: says what would fit
// Threads  one thread of control

#ifndef DENSENET_DENSENET_TRAINING_PLAN_H_
#define DENSENET_DENSENET_TRAINING_PLAN_H_

#include <cstdint>
#include <string>

#include "core/context.h"
#include "core/status.h"
#include "densenet/network.h"
#include "densenet/run_config.h"
#include "parallel/parameter_store.h"

namespace densenet {

struct TrainingPlan {
  int64_t batch = 0;  // images of a step that this is the plan of
  int64_t train_arena_bytes = 0;
  int64_t evaluation_arena_bytes = 0;
  int64_t parameter_bytes = 0;  // values, gradients, running statistics
  int64_t optimizer_bytes = 0;
  int64_t input_bytes = 0;  // batches
  int64_t data_bytes = 0;   // the data set

  int64_t arena_bytes() const;
  int64_t total_bytes() const;
  std::string ToString() const;
};

// Of a store with `slots` slots, made for this model.
int64_t ParameterBytes(const ModelConfig& model);
int64_t OptimizerBytes(const ModelConfig& model, int slots);

// What a run may take: the budget, or all memory of the machine; 0 where that
// is unknown.
int64_t MemoryLimitBytes(const RunConfig& config);

// What "auto" means: fused if its plan fits config.memory_budget_bytes (without
// a budget: what the machine has available), else features-only. `plan` is
// complete but for its train_arena_bytes.
StatusOr<Strategy> ChooseStrategy(const Context& ctx, const RunConfig& config,
                                  const TrainingPlan& plan,
                                  ParameterStore& store);

// OK if `plan`, that of `config` with its strategy, stays within the limit.
Status CheckBudget(const Context& ctx, const RunConfig& config,
                   const TrainingPlan& plan, ParameterStore& store);

}  // namespace densenet

#endif  // DENSENET_DENSENET_TRAINING_PLAN_H_
