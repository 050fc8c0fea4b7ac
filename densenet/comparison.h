// densenet/comparison.h
//
// Optimizers side by side: one recipe, and for each seed the same initial
// parameters and the same images in the same order. Every run is an ordinary
// run folder below that of the comparison,
//
//   runs/<optimizer>-lr<rate>-seed<seed>    trained on all training images
//
// so that a comparison that was stopped or killed goes on where it was, and
// more seeds or optimizers are added by asking for them.
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
#include <ostream>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/run_config.h"
#include "densenet/run_outcome.h"

namespace densenet {

struct ComparisonOptions {
  // What all runs share. Its optimizer and rate are not used; its seed is the
  // first, its `out` the comparison's folder.
  RunOptions recipe;
  std::vector<std::string> optimizers;
  std::vector<double> learning_rates;
  int64_t seeds = 3;  // recipe.seed, recipe.seed + 1, ...
};

// An optimizer at one rate, with a run for each seed.
struct ComparedRuns {
  std::string optimizer;
  double learning_rate = 0;
  std::vector<RunConfig> configs;     // by seed, rising
  std::vector<RunOutcome> outcomes;  // as far as they are done
};

struct Comparison {
  // Of the first run; the others differ in optimizer, rate, seed and folder.
  RunConfig recipe;
  std::string folder;
  std::vector<uint64_t> seeds;
  std::vector<ComparedRuns> rows;  // in the order of the options
  int64_t train_images = 0;
  int64_t test_images = 0;
  // What to know about the data: where they are not the published ones.
  std::vector<std::string> notes;
  bool finished = false;  // else somebody stopped it
};

// Where it says what it is doing.
struct ComparisonOutput {
  std::ostream& out;
  bool terminal = false;
  std::function<bool()> should_stop;
};

// Checks everything that can be without training.
StatusOr<Comparison> PlanComparison(const ComparisonOptions& options);

// Trains what is not done yet: all optimizers with the first seed, then with
// the second, so that what is done can be compared.
Status RunComparison(const ComparisonOutput& output, Comparison* comparison);

}  // namespace densenet

#endif  // DENSENET_DENSENET_COMPARISON_H_
