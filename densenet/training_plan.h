// densenet/training_plan.h
//
// The memory plan of a training run: the arena of a step, which evaluation
// shares, and what lives all along: parameters with their gradients, the
// optimizer's slots, the batches being prepared, the data set. From it follow
// what "auto" stands for and whether the run fits its budget.
//
// Memory   none; networks are laid out, not allocated
// Errors   ResourceExhausted  the plan exceeds the budget: says what would fit
// Threads  one thread of control

#ifndef DENSENET_DENSENET_TRAINING_PLAN_H_
#define DENSENET_DENSENET_TRAINING_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/status.h"
#include "densenet/data/batch_loader.h"
#include "densenet/network.h"
#include "densenet/run_config.h"
#include "parallel/parameter_store.h"

namespace densenet {

// What a plan depends on besides the configuration.
struct TrainingSizes {
  int64_t train_examples = 0;
  int64_t validation_examples = 0;  // 0: none are held out
  int64_t test_examples = 0;
  int64_t data_bytes = 0;
  int slots = 0;  // of the optimizer
  // How batches are prepared, and what each worker needs for it.
  BatchLoader::Options loader;
  int64_t train_workspace_bytes = 0;
  int64_t validation_workspace_bytes = 0;
  int64_t test_workspace_bytes = 0;
};

struct TrainingPlan {
  int64_t batch = 0;  // images of a step that this is the plan of
  int64_t train_arena_bytes = 0;
  int64_t evaluation_arena_bytes = 0;
  int64_t parameter_bytes = 0;  // values, gradients, running statistics
  int64_t optimizer_bytes = 0;
  int64_t input_bytes = 0;  // batches: training and evaluation take turns
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

// The plan of a run of config.model with this strategy and batch; those of
// `config` do not count. `store` has its parameters.
StatusOr<TrainingPlan> PlanTraining(const Context& ctx, const RunConfig& config,
                                    const TrainingSizes& sizes,
                                    ParameterStore& store, Strategy strategy,
                                    int64_t batch);

// Puts what "auto" stands for into config.strategy and config.batch, so that
// it stays when the run is continued; returns a line for each that says what
// was chosen and why.
//   strategy  fused if its plan fits, else features-only; with an automatic
//             batch features-only, which holds the largest
//   batch     the largest that fits, at most the training images
// What must be fitted into is the budget or, without one, nine tenths of what
// the machine has free, counted before the run took its data.
// Errors  ResourceExhausted  not even a batch of 1 fits
StatusOr<std::vector<std::string>> ResolveAuto(const Context& ctx,
                                               const TrainingSizes& sizes,
                                               ParameterStore& store,
                                               RunConfig& config);

// OK if `plan`, that of `config`, stays within the limit.
Status CheckBudget(const Context& ctx, const RunConfig& config,
                   const TrainingSizes& sizes, const TrainingPlan& plan,
                   ParameterStore& store);

}  // namespace densenet

#endif  // DENSENET_DENSENET_TRAINING_PLAN_H_
