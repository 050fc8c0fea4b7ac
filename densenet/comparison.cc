#include "densenet/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/optim/optimizer.h"
#include "densenet/comparison_grid.h"
#include "densenet/console.h"
#include "densenet/data/data_source.h"
#include "densenet/data/published_content.h"
#include "densenet/option_range.h"
#include "memory/host_memory.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

constexpr char kRunsFolder[] = "runs";

Status CheckLists(const ComparisonOptions& o) {
  if (o.optimizers.empty()) {
    return InvalidArgument(fmt::format("--optimizers: name some of {}",
                                       fmt::join(OptimizerNames(), ", ")));
  }
  const std::set<std::string> names(o.optimizers.begin(), o.optimizers.end());
  if (names.size() < o.optimizers.size()) {
    return InvalidArgument(fmt::format("--optimizers {}: one is named twice",
                                       fmt::join(o.optimizers, ",")));
  }
  const std::set<double> rates(o.learning_rates.begin(),
                               o.learning_rates.end());
  if (rates.size() < o.learning_rates.size()) {
    return InvalidArgument(fmt::format("--lrs {}: one is given twice",
                                       fmt::join(o.learning_rates, ",")));
  }
  return OkStatus();
}

Status CheckOptions(const ComparisonOptions& o) {
  RETURN_IF_ERROR(CheckLists(o));
  RETURN_IF_ERROR(CheckRange("seeds", o.seeds, 1, kMaxSeeds));
  RETURN_IF_ERROR(CheckRange("grid-seeds", o.grid_seeds, 1, kMaxSeeds));
  if (o.grid_epochs) {
    RETURN_IF_ERROR(CheckRange("grid-epochs", *o.grid_epochs, 1));
  }
  if (o.recipe.patience.value_or(0) > 0) {
    return InvalidArgument(
        "--patience ends each run at another epoch, which is no comparison");
  }
  if (!o.recipe.out || o.recipe.out->empty()) {
    return InvalidArgument("--out: name the folder of the comparison");
  }
  RETURN_IF_ERROR(CheckRange("validation", o.recipe.validation.value_or(0), 0));
  if (!o.has_grid() && (o.recipe.validation.value_or(0) > 0 || o.grid_epochs)) {
    return InvalidArgument(
        "--validation and --grid-epochs are of the search for a rate; with one "
        "rate there is none, and all images are trained on");
  }
  return OkStatus();
}

// One of the optimizer's runs, so that impossible options are found before the
// data are.
StatusOr<RunConfig> CheckRun(ComparisonOptions options,
                             const std::string& optimizer, uint64_t seed) {
  options.recipe.validation = 0;
  constexpr double kAnyRate = 0.1;
  ASSIGN_OR_RETURN(
      RunConfig config,
      ResolveComparedRun(options, kRunsFolder, optimizer, kAnyRate, seed));
  if (options.learning_rates.empty()) {
    RETURN_IF_ERROR(UsualRates(optimizer).status());
  }
  for (double rate : options.learning_rates) {
    ASSIGN_OR_RETURN(config, ResolveComparedRun(options, kRunsFolder, optimizer,
                                                rate, seed));
  }
  return config;
}

// A folder that holds something has the runs of a comparison.
Status CheckFolder(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return OkStatus();
  if (fs::is_directory(folder, error) &&
      (fs::is_empty(folder, error) ||
       fs::is_directory(fs::path(folder) / kRunsFolder, error) ||
       fs::is_directory(fs::path(folder) / kGridFolder, error))) {
    return OkStatus();
  }
  return FailedPrecondition(
      fmt::format("{} holds other things and no comparison; give a new or "
                  "empty folder as --out",
                  folder));
}

// Images, and what is to be known of them.
Status DescribeImages(Comparison* comparison) {
  const RunConfig& recipe = comparison->recipe;
  HostMemory memory;
  for (Split split : {Split::kTrain, Split::kTest}) {
    ASSIGN_OR_RETURN(
        const std::unique_ptr<ExampleStore> store,
        OpenData(QueryOf(recipe), split, memory, &comparison->notes));
    (split == Split::kTrain ? comparison->train_images
                            : comparison->test_images) = store->count();
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> note,
                   NoteUnlikePublished(recipe.dataset, recipe.data));
  if (note) comparison->notes.push_back(*note);
  return OkStatus();
}

std::string OutcomeText(const RunOutcome& outcome) {
  if (outcome.divergence) return "diverged: " + *outcome.divergence;
  if (const std::optional<Score>& held_out = outcome.epochs.back().validation) {
    return fmt::format("validation error {:.2f} % at the end",
                       held_out->error_percent);
  }
  const EpochMetrics& best = outcome.best_test();
  return fmt::format("test error {:.2f} % at the end, {:.2f} % in epoch {}",
                     outcome.final_test().error_percent,
                     best.test->error_percent, best.epoch);
}

// The runs on all images, each optimizer at its rate.
Status ResolveRows(Comparison* comparison) {
  ComparisonOptions options = comparison->options;
  options.recipe.validation = 0;  // a recipe of the paper may hold some out
  for (size_t i = 0; i < options.optimizers.size(); ++i) {
    ComparedRuns row;
    row.optimizer = options.optimizers[i];
    row.learning_rate = options.has_grid() ? comparison->grid[i].chosen()
                                           : options.learning_rates.front();
    for (uint64_t seed : comparison->seeds) {
      ASSIGN_OR_RETURN(RunConfig config,
                       ResolveComparedRun(options, kRunsFolder, row.optimizer,
                                          row.learning_rate, seed));
      RETURN_IF_ERROR(CheckHoldsRun(config));
      row.configs.push_back(std::move(config));
    }
    comparison->rows.push_back(std::move(row));
  }
  return OkStatus();
}

// All of them; false when stopped.
StatusOr<bool> RunRows(const ComparisonOutput& output, Comparison* comparison) {
  const size_t runs = comparison->rows.size() * comparison->seeds.size();
  size_t number = 0;
  for (size_t i = 0; i < comparison->seeds.size(); ++i) {
    for (ComparedRuns& row : comparison->rows) {
      const std::string name =
          fmt::format("run {} of {}: {}, rate {}, seed {}", ++number, runs,
                      row.optimizer, row.learning_rate, comparison->seeds[i]);
      ASSIGN_OR_RETURN(std::optional<RunOutcome> outcome,
                       FinishNamedRun(output, name, row.configs[i]));
      if (!outcome) return false;
      row.outcomes.push_back(*std::move(outcome));
    }
  }
  return true;
}

}  // namespace

StatusOr<RunConfig> ResolveComparedRun(const ComparisonOptions& options,
                                       const std::string& folder,
                                       const std::string& optimizer,
                                       double rate, uint64_t seed) {
  RunOptions run = options.recipe;
  run.optimizer = optimizer;
  run.learning_rate = rate;
  run.seed = seed;
  run.out = (fs::path(*options.recipe.out) / folder /
             fmt::format("{}-lr{}-seed{}", optimizer, rate, seed))
                .string();
  return ResolveRunConfig(run);
}

StatusOr<std::optional<RunOutcome>> FinishNamedRun(
    const ComparisonOutput& output, const std::string& name,
    const RunConfig& run) {
  Console console(output.out, output.terminal);
  console.Line(name);
  RunConfig config = run;
  config.max_seconds = 0;  // of all runs together: should_stop knows
  TrainHooks hooks;
  hooks.should_stop = output.should_stop;
  ASSIGN_OR_RETURN(std::optional<RunOutcome> outcome,
                   FinishRun(config, hooks, console));
  if (outcome) {
    console.Line(fmt::format("{}: {}", name, OutcomeText(*outcome)));
  }
  return outcome;
}

ComparisonOutput WithTimeLimit(const ComparisonOutput& output,
                               double max_seconds) {
  if (max_seconds == 0) return output;
  const absl::Time end = absl::Now() + absl::Seconds(max_seconds);
  return {.out = output.out,
          .terminal = output.terminal,
          .should_stop = [end, should_stop = output.should_stop] {
            return absl::Now() >= end || (should_stop && should_stop());
          }};
}

StatusOr<Comparison> PlanComparison(const ComparisonOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  Comparison comparison;
  comparison.options = options;
  const uint64_t first = options.recipe.seed.value_or(RunConfig().seed);
  for (int64_t i = 0; i < options.seeds; ++i) {
    comparison.seeds.push_back(first + static_cast<uint64_t>(i));
  }
  for (const std::string& optimizer : options.optimizers) {
    ASSIGN_OR_RETURN(comparison.recipe, CheckRun(options, optimizer, first));
  }
  return comparison;
}

Status RunComparison(const ComparisonOutput& asked, Comparison* comparison) {
  const ComparisonOutput output =
      WithTimeLimit(asked, comparison->recipe.max_seconds);
  RETURN_IF_ERROR(CheckFolder(comparison->folder()));
  RETURN_IF_ERROR(DescribeImages(comparison));
  if (comparison->options.has_grid()) {
    ASSIGN_OR_RETURN(const bool whole, RunGrid(output, comparison));
    if (!whole) return OkStatus();
  }
  RETURN_IF_ERROR(ResolveRows(comparison));
  comparison->recipe = comparison->rows.front().configs.front();
  ASSIGN_OR_RETURN(comparison->finished, RunRows(output, comparison));
  return OkStatus();
}

}  // namespace densenet
