// densenet/training_run.h
//
// The state of a run and the steps that change it; Train() (trainer.h) decides
// when. Kept apart so that setting up, stepping and saving each fit a page.
// Not for other callers.
//
// Errors   those of trainer.h
// Threads  one thread of control

#ifndef DENSENET_DENSENET_TRAINING_RUN_H_
#define DENSENET_DENSENET_TRAINING_RUN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/optim/optimizer.h"
#include "core/optim/schedule.h"
#include "core/status.h"
#include "densenet/checkpoint_folder.h"
#include "densenet/console.h"
#include "densenet/data/batch_loader.h"
#include "densenet/evaluator.h"
#include "densenet/network.h"
#include "densenet/run_config.h"
#include "densenet/training_data.h"
#include "densenet/training_plan.h"
#include "memory/arena.h"
#include "memory/host_memory.h"
#include "parallel/parameter_store.h"

namespace densenet {

class TrainingRun {
 public:
  // Loads the data, plans, checks the budget, allocates, and sets the initial
  // parameters.
  static StatusOr<std::unique_ptr<TrainingRun>> Create(const RunConfig& config);
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  const TrainingPlan& plan() const { return plan_; }
  const TrainingProgress& progress() const { return progress_; }
  const TrainingData& data() const { return *data_; }
  // With what "auto" stands for in place of it.
  const RunConfig& config() const { return config_; }
  // What "auto" was given for, what it stands for and why.
  const std::vector<std::string>& choices() const { return choices_; }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  // Of the run: those of all epochs, or fewer with --max-steps.
  int64_t total_steps() const { return total_steps_; }
  // All steps are done and, where the last epoch is whole, it is finished; or
  // it ended early.
  bool finished() const;
  // --patience is over.
  bool ended_early() const {
    return config_.patience > 0 &&
           progress_.stale_evaluations >= config_.patience;
  }
  int64_t measured_peak_bytes() const { return memory_.stats().peak_bytes; }
  int threads() const { return context_->threads().threads(); }

  // Starts from the network that the configuration names, if it does; says
  // what it took.
  StatusOr<std::string> TakeInitialNetwork();
  // Goes on from a checkpoint.
  // Errors  FailedPrecondition  it was trained on other data
  Status Restore(const Checkpoint& checkpoint);

  struct StepResult {
    int64_t examples = 0;
    double loss = 0;  // the mean over them
    double seconds = 0;
    double wait_seconds = 0;  // of these, for the batch
    // Images that could not be read, and why.
    std::vector<Status> skipped;
  };
  // The next step of the current epoch.
  StatusOr<StepResult> TrainStep();
  bool all_steps_done() const { return progress_.global_step >= total_steps_; }
  bool epoch_is_over() const {
    return progress_.batch == steps_per_epoch_ || all_steps_done();
  }
  // The rate of step `step`, 0 for the first.
  float LearningRate(int64_t step) const {
    return schedule_->AtStep(step, total_steps_);
  }
  Score train_score() const;
  // Whether an evaluation with this error is the last one of --patience.
  bool EndsEarly(double error_percent) const {
    return config_.patience > 0 && !(error_percent < progress_.best_error) &&
           progress_.stale_evaluations + 1 >= config_.patience;
  }
  // Moves on to the next epoch, unless this one was cut short, noting
  // `error_percent` of the evaluation, if there was one. True when that is the
  // best so far.
  bool FinishEpoch(std::optional<double> error_percent);

  StatusOr<std::optional<Evaluation>> EvaluateTest(
      const EvaluationProgress& progress);
  // Only with held-out images.
  StatusOr<std::optional<Evaluation>> EvaluateValidation(
      const EvaluationProgress& progress);

  Status Save(const CheckpointFolder& folder, const Json& run);

 private:
  explicit TrainingRun(const RunConfig& config)
      : config_(config), memory_(MemoryLimitBytes(config)) {}
  // An allocation that failed before there is a plan, in the user's words.
  Status WithinBudget(const Status& status) const;
  Status Load();
  // Chooses what is "auto", plans and lays the networks out.
  Status Plan();
  TrainingSizes Sizes() const;
  Status Allocate();
  Status CountSteps();
  BatchLoader::Options LoaderOptions(const BatchSource& source,
                                     bool training) const;
  // The loader of `source`, in place of that of another.
  StatusOr<BatchLoader*> UseLoader(const BatchSource& source, bool training);
  StatusOr<std::optional<Evaluation>> EvaluateSource(
      const BatchSource& source, const EvaluationProgress& progress);
  // The error of a step with that loss, which names the layer it came from.
  Status NonFiniteLoss(const Batch& batch, double loss);
  // The part of an array of all parameters that the optimizer updates.
  absl::Span<float> Trained(absl::Span<float> all) const;
  Status CheckFinite() const;

  RunConfig config_;
  std::vector<std::string> choices_;
  // Members below use those above them.
  HostMemory memory_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<TrainingData> data_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<LearningRateSchedule> schedule_;
  std::vector<std::string> slot_names_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Network> train_network_;
  std::unique_ptr<Network> evaluation_network_;
  TrainingPlan plan_;
  std::optional<Arena> arena_;
  // One at a time: training and evaluation take turns. A batch depends on
  // nothing that came before it, so nothing is lost.
  std::unique_ptr<BatchLoader> loader_;
  int64_t pass_batches_ = 0;  // of a pass over the training images
  int64_t steps_per_epoch_ = 0;
  int64_t total_steps_ = 0;
  TrainingProgress progress_;
};

// Batches of a pass of which batch norm can take statistics (see trainer.h).
// Errors  InvalidArgument  none
StatusOr<int64_t> StepsPerEpoch(const ModelConfig& model,
                                const BatchSource& source);

}  // namespace densenet

#endif  // DENSENET_DENSENET_TRAINING_RUN_H_
