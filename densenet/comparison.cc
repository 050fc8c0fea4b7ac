#include "densenet/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/optim/optimizer.h"
#include "densenet/console.h"
#include "densenet/data/data_source.h"
#include "densenet/data/published_content.h"
#include "densenet/option_range.h"
#include "memory/host_memory.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxSeeds = 1000;
constexpr char kRunsFolder[] = "runs";

Status CheckOptions(const ComparisonOptions& o) {
  RETURN_IF_ERROR(CheckRange("seeds", o.seeds, 1, kMaxSeeds));
  if (o.optimizers.empty()) {
    return InvalidArgument(fmt::format("--optimizers: name some of {}",
                                       fmt::join(OptimizerNames(), ", ")));
  }
  const std::set<std::string> distinct(o.optimizers.begin(),
                                       o.optimizers.end());
  if (distinct.size() < o.optimizers.size()) {
    return InvalidArgument(fmt::format("--optimizers {}: one is named twice",
                                       fmt::join(o.optimizers, ",")));
  }
  if (!o.recipe.out || o.recipe.out->empty()) {
    return InvalidArgument("--out: name the folder of the comparison");
  }
  if (o.recipe.validation.value_or(0) > 0) {
    return InvalidArgument(
        "--validation holds images out to choose rates on; with one rate "
        "there is nothing to choose, and all images are trained on");
  }
  return OkStatus();
}

StatusOr<RunConfig> ResolveRun(const ComparisonOptions& options,
                               const std::string& optimizer, double rate,
                               uint64_t seed) {
  RunOptions run = options.recipe;
  run.optimizer = optimizer;
  run.learning_rate = rate;
  run.seed = seed;
  run.out = (fs::path(*options.recipe.out) / kRunsFolder /
             fmt::format("{}-lr{}-seed{}", optimizer, rate, seed))
                .string();
  return ResolveRunConfig(run);
}

// A folder that holds something has the runs of a comparison.
Status CheckFolder(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return OkStatus();
  if (fs::is_directory(folder, error) &&
      (fs::is_empty(folder, error) ||
       fs::is_directory(fs::path(folder) / kRunsFolder, error))) {
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
  ASSIGN_OR_RETURN(const std::vector<std::string> unlike,
                   FilesUnlikePublished(recipe.dataset, recipe.data));
  if (!unlike.empty()) {
    comparison->notes.push_back(fmt::format(
        "these are not the published {} files ({} differ in content): errors "
        "are not comparable with published ones",
        recipe.dataset, fmt::join(unlike, ", ")));
  }
  return OkStatus();
}

std::string OutcomeText(const RunOutcome& outcome) {
  if (outcome.divergence) return "diverged: " + *outcome.divergence;
  const EpochMetrics& best = outcome.best_test();
  return fmt::format("test error {:.2f} % at the end, {:.2f} % in epoch {}",
                     outcome.final_test().error_percent,
                     best.test->error_percent, best.epoch);
}

}  // namespace

StatusOr<Comparison> PlanComparison(const ComparisonOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (options.learning_rates.size() != 1) {
    return InvalidArgument("--lrs: give one rate");
  }
  Comparison comparison;
  comparison.folder = *options.recipe.out;
  const uint64_t first = options.recipe.seed.value_or(RunConfig().seed);
  for (int64_t i = 0; i < options.seeds; ++i) {
    comparison.seeds.push_back(first + static_cast<uint64_t>(i));
  }
  for (const std::string& optimizer : options.optimizers) {
    ComparedRuns row;
    row.optimizer = optimizer;
    row.learning_rate = options.learning_rates.front();
    for (uint64_t seed : comparison.seeds) {
      ASSIGN_OR_RETURN(
          RunConfig config,
          ResolveRun(options, optimizer, row.learning_rate, seed));
      row.configs.push_back(std::move(config));
    }
    comparison.rows.push_back(std::move(row));
  }
  comparison.recipe = comparison.rows.front().configs.front();
  return comparison;
}

Status RunComparison(const ComparisonOutput& output, Comparison* comparison) {
  RETURN_IF_ERROR(CheckFolder(comparison->folder));
  for (const ComparedRuns& row : comparison->rows) {
    for (const RunConfig& config : row.configs) {
      RETURN_IF_ERROR(CheckHoldsRun(config));
    }
  }
  RETURN_IF_ERROR(DescribeImages(comparison));
  TrainHooks hooks;
  hooks.should_stop = output.should_stop;
  const size_t runs = comparison->rows.size() * comparison->seeds.size();
  size_t number = 0;
  for (size_t i = 0; i < comparison->seeds.size(); ++i) {
    for (ComparedRuns& row : comparison->rows) {
      Console console(output.out, output.terminal);
      const std::string name =
          fmt::format("run {} of {}: {}, rate {}, seed {}", ++number, runs,
                      row.optimizer, row.learning_rate, comparison->seeds[i]);
      console.Line(name);
      ASSIGN_OR_RETURN(std::optional<RunOutcome> outcome,
                       FinishRun(row.configs[i], hooks, console));
      if (!outcome) return OkStatus();
      console.Line(fmt::format("{}: {}", name, OutcomeText(*outcome)));
      row.outcomes.push_back(*std::move(outcome));
    }
  }
  comparison->finished = true;
  return OkStatus();
}

}  // namespace densenet
