// densenet/run_outcome.h
//
// A training run as a result among others: what came of it, read from its
// folder where it is done, else trained first. A run whose loss stopped being a
// finite number is done too: it has diverged, and its folder keeps a file
// diverged.json that says so, so that it is not trained into the same wall
// again.
//
// Errors   FailedPrecondition  the folder holds another run: names each
//                              difference, epochs among them
//          others              those of Train (densenet/trainer.h)
// Threads  one thread of control

#ifndef DENSENET_DENSENET_RUN_OUTCOME_H_
#define DENSENET_DENSENET_RUN_OUTCOME_H_

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/console.h"
#include "densenet/metrics_csv.h"
#include "densenet/run_config.h"
#include "densenet/trainer.h"

namespace densenet {

struct RunOutcome {
  // Of a run that diverged: those before.
  std::vector<EpochMetrics> epochs;
  // What the trainer said when it diverged.
  std::optional<std::string> divergence;

  // On the test images after the last epoch; only of a run that did not
  // diverge.
  const Score& final_test() const { return *epochs.back().test; }
  // The epoch of the lowest test error, the first of several alike.
  const EpochMetrics& best_test() const;
  double training_seconds() const;
};

// OK where config.out holds this run, or nothing. Unlike Train, other --epochs,
// --max-steps and --patience are another run.
Status CheckHoldsRun(const RunConfig& config);

// Nothing where the run is not done.
StatusOr<std::optional<RunOutcome>> ReadRunOutcome(const RunConfig& config);

// Trains until the run is done; nothing where hooks.should_stop ended it
// before.
StatusOr<std::optional<RunOutcome>> FinishRun(const RunConfig& config,
                                              const TrainHooks& hooks,
                                              Console& console);

}  // namespace densenet

#endif  // DENSENET_DENSENET_RUN_OUTCOME_H_
