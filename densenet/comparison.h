// densenet/comparison.h
//
// Optimizers side by side: one recipe, and for each seed the same initial
// parameters and the same images in the same order. Every run is an ordinary
// run folder below that of the comparison,
//
//   grid/<optimizer>-lr<rate>-seed<seed>    to choose the rate: some training
//                                           images are held out and validated
//                                           on
//   runs/<optimizer>-lr<rate>-seed<seed>    trained on all training images
//
// so that a comparison that was stopped or killed goes on where it was, and
// more seeds, rates or optimizers are added by asking for them.
//
// With one rate all run at it. With several, or automatic ones, each optimizer
// runs at its own best (densenet/comparison_grid.h).
//
// Errors   InvalidArgument     options that are out of range or contradict
//          FailedPrecondition  a run folder holds a run of another recipe:
//                              names each difference; the folder holds other
//                              things
//          others              those of Train (densenet/trainer.h)
// Threads  one thread of control

#ifndef DENSENET_DENSENET_COMPARISON_H_
#define DENSENET_DENSENET_COMPARISON_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/rate_grid.h"
#include "densenet/run_config.h"
#include "densenet/run_outcome.h"

namespace densenet {

// Far beyond what anybody trains.
inline constexpr int64_t kMaxSeeds = 1000;

struct ComparisonOptions {
  // What all runs share. Its optimizer and rate are not used; its seed is the
  // first, its `out` the comparison's folder. Its `validation` is that of the
  // grid: by default a tenth of the training images, at most 5000.
  RunOptions recipe;
  std::vector<std::string> optimizers;
  std::vector<double> learning_rates;  // empty: automatic
  int64_t seeds = 3;                   // recipe.seed, recipe.seed + 1, ...
  int64_t grid_seeds = 1;              // likewise
  std::optional<int64_t> grid_epochs;  // as many as the recipe has

  bool has_grid() const { return learning_rates.size() != 1; }
};

// The rates that were tried of one optimizer.
struct RateSearch {
  std::string optimizer;
  std::vector<RatePoint> points;  // by rate, rising
  // What to know about the choice: that it was at an edge.
  std::vector<std::string> notes;

  double chosen() const { return points[BestPoint(points)].rate; }
};

// An optimizer at one rate, with a run for each seed.
struct ComparedRuns {
  std::string optimizer;
  double learning_rate = 0;
  std::vector<RunConfig> configs;    // by seed, rising
  std::vector<RunOutcome> outcomes;  // as far as they are done
};

struct Comparison {
  ComparisonOptions options;
  // Of a run on all images; others differ in optimizer, rate, seed, folder.
  RunConfig recipe;
  std::vector<uint64_t> seeds;
  std::optional<RunConfig> grid_recipe;
  std::vector<RateSearch> grid;
  std::vector<ComparedRuns> rows;  // in the order of the options
  int64_t train_images = 0;
  int64_t test_images = 0;
  // What to know about the data: where they are not the published ones.
  std::vector<std::string> notes;
  bool finished = false;  // else somebody stopped it

  const std::string& folder() const { return *options.recipe.out; }
};

// Where it says what it is doing.
struct ComparisonOutput {
  std::ostream& out;
  bool terminal = false;
  std::function<bool()> should_stop;
};

// Checks everything that can be without data.
StatusOr<Comparison> PlanComparison(const ComparisonOptions& options);

// Trains what is not done yet: all optimizers with the first seed, then with
// the second, so that what is done can be compared.
Status RunComparison(const ComparisonOutput& output, Comparison* comparison);

// A run of a comparison, in `folder` of its ("runs", "grid").
StatusOr<RunConfig> ResolveComparedRun(const ComparisonOptions& options,
                                       const std::string& folder,
                                       const std::string& optimizer,
                                       double rate, uint64_t seed);

// FinishRun, with a line before and after it that names the run. --max-time
// does not count: it is that of all runs together.
StatusOr<std::optional<RunOutcome>> FinishNamedRun(
    const ComparisonOutput& output, const std::string& name,
    const RunConfig& run);

// `output` whose should_stop also says so `max_seconds` from now; 0: never.
ComparisonOutput WithTimeLimit(const ComparisonOutput& output,
                               double max_seconds);

}  // namespace densenet

#endif  // DENSENET_DENSENET_COMPARISON_H_
