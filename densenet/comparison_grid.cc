#include "densenet/comparison_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "densenet/console.h"

namespace densenet {
namespace {

constexpr int64_t kMostHeldOut = 5000;  // the paper's on CIFAR
constexpr int64_t kHeldOutShare = 10;   // a tenth
// Of automatic rates, in either direction together: two decades.
constexpr int kMostExtensions = 4;

// The options of the grid's runs.
ComparisonOptions GridOptions(const Comparison& comparison) {
  ComparisonOptions options = comparison.options;
  if (options.grid_epochs) options.recipe.epochs = options.grid_epochs;
  if (options.recipe.validation.value_or(0) == 0) {
    options.recipe.validation = DefaultGridValidation(comparison.train_images);
  }
  return options;
}

// Tries one rate with every seed of the grid; nothing when stopped.
StatusOr<std::optional<RatePoint>> TryRate(const ComparisonOutput& output,
                                           const ComparisonOptions& options,
                                           const std::string& optimizer,
                                           double rate, uint64_t first_seed) {
  RatePoint point;
  point.rate = rate;
  point.error_percent = 0;
  const double share = 1.0 / static_cast<double>(options.grid_seeds);
  for (int64_t i = 0; i < options.grid_seeds; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    ASSIGN_OR_RETURN(
        const RunConfig config,
        ResolveComparedRun(options, kGridFolder, optimizer, rate, seed));
    ASSIGN_OR_RETURN(const std::optional<RunOutcome> outcome,
                     FinishNamedRun(output,
                                    fmt::format("grid: {}, rate {}, seed {}",
                                                optimizer, rate, seed),
                                    config));
    if (!outcome) return std::optional<RatePoint>();
    if (outcome->divergence) {
      point.error_percent.reset();
    } else if (point.error_percent) {
      const Score& score = *outcome->epochs.back().validation;
      *point.error_percent += share * score.error_percent;
      point.loss += share * score.loss;
    }
  }
  return std::optional<RatePoint>(point);
}

std::string EdgeNote(const RateSearch& search, bool automatic) {
  const GridEdge edge = EdgeOf(search.points);
  if (edge == GridEdge::kNone) return "";
  const std::string which = edge == GridEdge::kLowest ? "lowest" : "highest";
  const bool any = std::any_of(
      search.points.begin(), search.points.end(),
      [](const RatePoint& point) { return point.error_percent.has_value(); });
  return fmt::format(
      "{}: {}{}", search.optimizer,
      any ? fmt::format("the best rate, {}, is the {} tried; a {} one may be "
                        "better",
                        search.chosen(), which,
                        edge == GridEdge::kLowest ? "lower" : "higher")
          : fmt::format("diverged at every rate tried; runs at the lowest, {}",
                        search.chosen()),
      automatic ? fmt::format(" (the grid is extended {} times at most)",
                              kMostExtensions)
                : "");
}

// Those that are tried in any case, rising.
StatusOr<std::vector<double>> FirstRates(const ComparisonOptions& options,
                                         const std::string& optimizer) {
  std::vector<double> rates = options.learning_rates;
  if (rates.empty()) return UsualRates(optimizer);
  std::sort(rates.begin(), rates.end());
  return rates;
}

// Before anything is trained: what is there already is of this grid.
Status CheckGridRuns(const ComparisonOptions& options, uint64_t first_seed) {
  for (const std::string& optimizer : options.optimizers) {
    ASSIGN_OR_RETURN(const std::vector<double> rates,
                     FirstRates(options, optimizer));
    for (double rate : rates) {
      for (int64_t i = 0; i < options.grid_seeds; ++i) {
        ASSIGN_OR_RETURN(
            const RunConfig config,
            ResolveComparedRun(options, kGridFolder, optimizer, rate,
                               first_seed + static_cast<uint64_t>(i)));
        RETURN_IF_ERROR(CheckHoldsRun(config));
      }
    }
  }
  return OkStatus();
}

// One optimizer; false when stopped.
StatusOr<bool> Search(const ComparisonOutput& output,
                      const ComparisonOptions& options, uint64_t first_seed,
                      RateSearch* search) {
  const bool automatic = options.learning_rates.empty();
  ASSIGN_OR_RETURN(const std::vector<double> rates,
                   FirstRates(options, search->optimizer));
  for (double rate : rates) {
    ASSIGN_OR_RETURN(
        const std::optional<RatePoint> point,
        TryRate(output, options, search->optimizer, rate, first_seed));
    if (!point) return false;
    search->points.push_back(*point);
  }
  for (int i = 0; automatic && i < kMostExtensions; ++i) {
    const GridEdge edge = EdgeOf(search->points);
    if (edge == GridEdge::kNone) break;
    const double rate = RateBeyond(search->points, edge);
    Console(output.out, output.terminal)
        .Line(fmt::format("grid: {}: the best rate, {}, is at the edge; trying "
                          "{} too",
                          search->optimizer, search->chosen(), rate));
    ASSIGN_OR_RETURN(
        const std::optional<RatePoint> point,
        TryRate(output, options, search->optimizer, rate, first_seed));
    if (!point) return false;
    search->points.insert(edge == GridEdge::kLowest ? search->points.begin()
                                                    : search->points.end(),
                          *point);
  }
  const std::string note = EdgeNote(*search, automatic);
  if (!note.empty()) search->notes.push_back(note);
  return true;
}

}  // namespace

int64_t DefaultGridValidation(int64_t train_images) {
  return std::min(kMostHeldOut,
                  std::max<int64_t>(1, train_images / kHeldOutShare));
}

StatusOr<bool> RunGrid(const ComparisonOutput& output, Comparison* comparison) {
  const ComparisonOptions options = GridOptions(*comparison);
  const uint64_t first_seed = comparison->seeds.front();
  ASSIGN_OR_RETURN(comparison->grid_recipe,
                   ResolveComparedRun(
                       options, kGridFolder, options.optimizers.front(),
                       comparison->recipe.schedule.learning_rate, first_seed));
  RETURN_IF_ERROR(CheckGridRuns(options, first_seed));
  for (const std::string& optimizer : options.optimizers) {
    RateSearch search;
    search.optimizer = optimizer;
    ASSIGN_OR_RETURN(const bool whole,
                     Search(output, options, first_seed, &search));
    if (!whole) return false;
    Console(output.out, output.terminal)
        .Line(fmt::format("grid: {}: rate {} is taken", optimizer,
                          search.chosen()));
    comparison->grid.push_back(std::move(search));
  }
  return true;
}

}  // namespace densenet
