// The report of a comparison for people.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "absl/time/time.h"
#include "core/cpu/cpu_info.h"
#include "densenet/comparison_report.h"
#include "densenet/progress_meter.h"

namespace densenet {
namespace {

// "8.91 +- 0.11"
std::string SummaryText(const std::optional<SampleSummary>& summary) {
  if (!summary) return "diverged";
  if (!summary->deviation) return fmt::format("{:.2f}", summary->mean);
  return fmt::format("{:.2f} +- {:.2f}", summary->mean, *summary->deviation);
}

std::string SeedsText(const std::vector<uint64_t>& seeds) {
  if (seeds.size() == 1) return fmt::format("seed {}", seeds.front());
  return fmt::format("seeds {} to {}", seeds.front(), seeds.back());
}

// The rates that were tried, a line for each optimizer.
std::string Grid(const Comparison& comparison) {
  if (!comparison.grid_recipe) return "";
  const RunConfig& c = *comparison.grid_recipe;
  const int64_t grid_seeds = comparison.options.grid_seeds;
  std::string text = fmt::format(
      "rates    by validation error after {} epochs: {} training images held "
      "out,\n         {} trained on{}\n",
      c.epochs, c.validation, comparison.train_images - c.validation,
      grid_seeds > 1 ? fmt::format(", means of {} seeds", grid_seeds) : "");
  for (const RateSearch& search : comparison.grid) {
    text += fmt::format("         {:<10}", search.optimizer);
    for (const RatePoint& point : search.points) {
      text += fmt::format("  {}: {}{}", point.rate,
                          point.error_percent
                              ? fmt::format("{:.2f} %", *point.error_percent)
                              : "diverged",
                          point.rate == search.chosen() ? " *" : "");
    }
    text += "\n";
  }
  for (const RateSearch& search : comparison.grid) {
    for (const std::string& note : search.notes)
      text += "note     " + note + "\n";
  }
  return text;
}

// The convention of weight decay, which all share; adamw has its own.
std::string DecayText(const Comparison& comparison) {
  const Json recipe = ToJson(comparison.recipe);
  const bool decoupled = recipe.value("decay-mode", "coupled") == "decoupled";
  const bool weights = recipe.value("decay-on", "all") == "weights";
  const bool adamw = std::any_of(
      comparison.rows.begin(), comparison.rows.end(),
      [](const ComparedRuns& row) { return row.optimizer == "adamw"; });
  return fmt::format(
      "weight decay {} * w {} {}, alike for all{}",
      DumpJson(recipe["weight-decay"]),
      decoupled ? "times the rate, taken off" : "added to the gradient of",
      weights ? "weights, not batch norm or biases" : "every parameter",
      adamw && !decoupled ? " but adamw, which decouples it" : "");
}

// What the optimizers have besides: "nesterov momentum 0.9; adam beta1 0.9".
std::string OwnSettings(const Comparison& comparison) {
  std::vector<std::string> settings;
  for (const ComparedRuns& row : comparison.rows) {
    if (row.optimizer == "sgd") continue;  // has none
    const Json config = ToJson(row.configs.front());
    std::vector<std::string> own;
    for (const char* key : {"momentum", "alpha", "centered", "beta1", "beta2",
                            "amsgrad", "epsilon"}) {
      if (!config.contains(key)) continue;
      own.push_back(fmt::format("{} {}", key, DumpJson(config[key])));
    }
    if (own.empty()) continue;
    settings.push_back(
        fmt::format("{} {}", row.optimizer, fmt::join(own, ", ")));
  }
  return fmt::format("{}", fmt::join(settings, "; "));
}

std::string Header(const Comparison& comparison) {
  const RunConfig& c = comparison.recipe;
  std::string text =
      fmt::format("\nmodel    {}: {} parameters, dropout {}\n",
                  ModelName(c.model), ParameterCount(c.model), c.model.dropout);
  text += fmt::format(
      "data     {}: trained on all {} training images{};\n"
      "         errors are of all {} test images\n",
      c.dataset, comparison.train_images,
      c.augment == AugmentKind::kNone
          ? ""
          : fmt::format(", augmented ({})", Name(c.augment)),
      comparison.test_images);
  for (const std::string& note : comparison.notes) {
    text += "note     " + note + "\n";
  }
  text += fmt::format(
      "recipe   {} epochs{} of batches of {}, schedule {}{}\n", c.epochs,
      c.steps_per_epoch > 0 ? fmt::format(" of {} steps", c.steps_per_epoch)
                            : "",
      c.batch, c.schedule.name,
      c.schedule.name == "step"
          ? fmt::format(" (a tenth at {})",
                        fmt::join(c.schedule.milestones, ", "))
          : "");
  text += "         " + DecayText(comparison) + "\n";
  const std::string own = OwnSettings(comparison);
  if (!own.empty()) text += "         " + own + "\n";
  text += fmt::format(
      "runs     {}; with a seed, all begin with the same parameters and see "
      "the same\n         images in the same order\n",
      SeedsText(comparison.seeds));
  return text + Grid(comparison);
}

std::string Machine(const std::vector<ComparisonRow>& rows, int threads) {
  double seconds = 0;
  for (const ComparisonRow& row : rows) seconds += row.training_seconds;
  const CpuInfo cpu = GetCpuInfo();
  return fmt::format(
      "machine  {}, {} threads; {} of training steps in these runs\n",
      cpu.model, threads == 0 ? cpu.usable_cpus : threads,
      DurationText(absl::Seconds(seconds)));
}

std::string Rows(const std::vector<ComparisonRow>& rows, size_t seeds) {
  std::string text =
      fmt::format("\n{:<12} {:>10} {:>18} {:>18} {:>9}\n", "optimizer", "rate",
                  "final error, %", "best error, %", "diverged");
  for (const ComparisonRow& row : rows) {
    text += fmt::format("{:<12} {:>10} {:>18} {:>18} {:>9}\n", row.optimizer,
                        row.learning_rate, SummaryText(row.final_error),
                        SummaryText(row.best_error),
                        fmt::format("{}/{}", row.diverged.size(), seeds));
  }
  text += fmt::format(
      "final: test error after the last epoch{}.\n"
      "best: the lowest test error of all epochs, chosen by looking at the "
      "test "
      "images: not\nfor comparison with published errors.\n",
      seeds > 1 ? ", mean +- sample deviation over the seeds" : "");
  return text;
}

std::string Pairs(const std::vector<ComparisonPair>& pairs) {
  std::string text;
  if (pairs.empty()) return text;
  const bool tested =
      std::any_of(pairs.begin(), pairs.end(),
                  [](const ComparisonPair& pair) { return pair.test; });
  if (tested) {
    text += fmt::format("\n{:<24} {:>16} {:>18} {:>8} {:>3} {:>9} {:>9}\n",
                        "final error, points", "difference", "95 % interval",
                        "t", "df", "p", "Holm");
    for (const ComparisonPair& pair : pairs) {
      if (!pair.test) continue;
      text += fmt::format(
          "{:<24} {:>16} {:>18} {:>8.2f} {:>3} {:>9.5f} {:>9.5f}\n",
          fmt::format("{} - {}", pair.first, pair.second),
          SummaryText(pair.difference),
          fmt::format("{:.2f} to {:.2f}", pair.test->low, pair.test->high),
          pair.test->t, pair.test->degrees_of_freedom, pair.test->p,
          *pair.adjusted_p);
    }
    text +=
        "paired t tests of the differences by seed, two-sided; Holm: p "
        "corrected for the number\nof pairs.\n";
  }
  text += "\n";
  for (const ComparisonPair& pair : pairs) text += pair.verdict + "\n";
  return text;
}

}  // namespace

std::string ComparisonText(const Comparison& comparison) {
  const std::vector<ComparisonRow> rows = SummarizeRuns(comparison);
  return Header(comparison) + Machine(rows, comparison.recipe.threads) +
         Rows(rows, comparison.seeds.size()) + Pairs(ComparePairs(comparison));
}

}  // namespace densenet
