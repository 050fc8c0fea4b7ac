// densenet/reproduction.h
//
// A row of the paper trained again by the paper's recipe: one run folder for
// each seed below the folder of reproductions,
//
//   <preset>-<data set>[+][-x<scale>]-seed<seed>
//
// that goes on where it was stopped or killed. What is reported is what the
// paper reports: the test error after the last epoch; on SVHN that of the model
// with the lowest validation error. The lowest test error of all epochs stands
// beside it and is never taken for it.
//
// Errors   InvalidArgument     options that are out of range
//          NotFound            no such preset, or no such row: lists those
//                              there are
//          FailedPrecondition  a run folder holds another run
//          others              those of Train (densenet/trainer.h)
// Threads  one thread of control

#ifndef DENSENET_DENSENET_REPRODUCTION_H_
#define DENSENET_DENSENET_REPRODUCTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/comparison.h"
#include "densenet/presets.h"
#include "densenet/run_config.h"
#include "densenet/seed_statistics.h"

namespace densenet {

// A cell of the paper's tables.
struct PaperRow {
  const Preset* preset = nullptr;
  const PublishedResult* published = nullptr;

  // As the paper writes it: "cifar10+".
  std::string dataset() const;
};

StatusOr<PaperRow> FindPaperRow(const std::string& preset,
                                const std::string& dataset);
// All of them, in the order of the paper.
std::vector<PaperRow> PaperRows();

// The paper's recipe for the row.
Recipe RecipeOf(const PaperRow& row);
// Epochs of a run that is `scale` times as long, at least 1.
int64_t ScaledEpochs(const Recipe& recipe, double scale);
// 0 < scale <= 1.
Status CheckEpochsScale(double scale);

struct ReproductionOptions {
  std::string preset;
  std::string dataset;  // "cifar10+"
  // Data folder, machine, cadences, first seed; `out`: the folder of
  // reproductions. What the paper says is not taken from it.
  RunOptions run;
  int64_t seeds = 1;
  double epochs_scale = 1;
};

struct ReproducedRun {
  uint64_t seed = 0;
  std::string folder;
  std::optional<std::string> divergence;
  // As the paper reports it; not of a run that diverged.
  std::optional<double> error_percent;
  // The lowest test error of all epochs, where each was tested.
  std::optional<double> best_percent;
  double training_seconds = 0;
};

struct Reproduction {
  PaperRow row;
  double epochs_scale = 1;
  std::vector<RunConfig> configs;   // by seed, rising
  std::vector<ReproducedRun> runs;  // as far as they are done
  // What to know about the data: where they are not the published ones.
  std::vector<std::string> notes;
  bool finished = false;  // else somebody stopped it

  bool shortened() const { return epochs_scale < 1; }
  // Over the seeds that did not diverge; nothing without any.
  std::optional<SampleSummary> error() const;
  std::optional<SampleSummary> best() const;
};

// Checks everything that can be without training.
StatusOr<Reproduction> PlanReproduction(const ReproductionOptions& options);

// Trains what is not done yet, seed by seed.
Status RunReproduction(const ComparisonOutput& output,
                       Reproduction* reproduction);

// The row for people, and as {"rows": [one]}.
std::string ReproductionText(const Reproduction& reproduction);
Json ReproductionJson(const Reproduction& reproduction);

}  // namespace densenet

#endif  // DENSENET_DENSENET_REPRODUCTION_H_
