#include "densenet/comparison_report.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>

namespace densenet {
namespace {

// "0.0123", "< 0.0001"
std::string ProbabilityText(double p) {
  constexpr double kLeast = 1e-4;
  return p < kLeast ? fmt::format("< {:.4f}", kLeast)
                    : fmt::format("{:.4f}", p);
}

std::string Verdict(const ComparisonPair& pair, bool corrected) {
  const std::string names = fmt::format("{} and {}", pair.first, pair.second);
  if (!pair.difference) {
    return fmt::format("{}: no comparison, a run diverged", names);
  }
  const double mean = pair.difference->mean;
  const std::string& better = mean < 0 ? pair.first : pair.second;
  if (pair.difference->count == 1) {
    return fmt::format(
        "{}: {:.2f} points apart with one seed; no test of significance is "
        "possible, run more --seeds",
        names, std::abs(mean));
  }
  if (!pair.test) {
    return fmt::format(
        "{}: {:.2f} points apart with every seed; without spread there is no "
        "test",
        names, std::abs(mean));
  }
  const std::string p =
      fmt::format("p {}{}", ProbabilityText(*pair.adjusted_p),
                  corrected ? " after Holm's correction" : "");
  if (!pair.significant()) {
    return fmt::format(
        "{}: not significant at 5 % ({}); {} is {:.2f} points better on "
        "average, which may be chance",
        names, p, better, std::abs(mean));
  }
  return fmt::format(
      "{}: significant at 5 % ({}); {} is better by {:.2f} "
      "points",
      names, p, better, std::abs(mean));
}

ComparisonPair ComparePair(const ComparedRuns& a, const ComparedRuns& b) {
  ComparisonPair pair;
  pair.first = a.optimizer;
  pair.second = b.optimizer;
  for (size_t i = 0; i < a.outcomes.size(); ++i) {
    if (a.outcomes[i].divergence || b.outcomes[i].divergence) {
      pair.differences.clear();
      return pair;
    }
    pair.differences.push_back(a.outcomes[i].final_test().error_percent -
                               b.outcomes[i].final_test().error_percent);
  }
  pair.difference = Summarize(pair.differences);
  pair.test = TestPaired(pair.differences);
  return pair;
}

// The epochs at which every run that came so far was evaluated on the test
// images, with the errors of all.
PlotSeries Curve(const ComparedRuns& row, std::string label) {
  PlotSeries curve;
  curve.label = std::move(label);
  std::vector<const RunOutcome*> runs;
  for (const RunOutcome& outcome : row.outcomes) {
    if (!outcome.divergence) runs.push_back(&outcome);
  }
  if (runs.empty()) return curve;
  for (size_t e = 0; e < runs.front()->epochs.size(); ++e) {
    std::vector<double> errors;
    for (const RunOutcome* run : runs) {
      CHECK_LT(e, run->epochs.size());  // one recipe, one length
      const std::optional<Score>& test = run->epochs[e].test;
      if (test) errors.push_back(test->error_percent);
    }
    if (errors.size() < runs.size()) continue;
    const SampleSummary summary = Summarize(errors);
    curve.x.push_back(static_cast<double>(runs.front()->epochs[e].epoch));
    curve.y.push_back(summary.mean);
    if (!summary.deviation) continue;
    curve.low.push_back(summary.mean - *summary.deviation);
    curve.high.push_back(summary.mean + *summary.deviation);
  }
  return curve;
}

}  // namespace

std::vector<ComparisonRow> SummarizeRuns(const Comparison& comparison) {
  std::vector<ComparisonRow> rows;
  for (const ComparedRuns& runs : comparison.rows) {
    CHECK_EQ(runs.outcomes.size(), comparison.seeds.size());
    ComparisonRow row;
    row.optimizer = runs.optimizer;
    row.learning_rate = runs.learning_rate;
    std::vector<double> final_errors;
    std::vector<double> best_errors;
    for (size_t i = 0; i < runs.outcomes.size(); ++i) {
      const RunOutcome& outcome = runs.outcomes[i];
      row.training_seconds += outcome.training_seconds();
      if (outcome.divergence) {
        row.diverged.push_back(comparison.seeds[i]);
        continue;
      }
      final_errors.push_back(outcome.final_test().error_percent);
      best_errors.push_back(outcome.best_test().test->error_percent);
    }
    if (!final_errors.empty()) {
      row.final_error = Summarize(final_errors);
      row.best_error = Summarize(best_errors);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ComparisonPair> ComparePairs(const Comparison& comparison) {
  std::vector<ComparisonPair> pairs;
  const std::vector<ComparedRuns>& rows = comparison.rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = i + 1; j < rows.size(); ++j) {
      pairs.push_back(ComparePair(rows[i], rows[j]));
    }
  }
  std::vector<double> p_values;
  for (const ComparisonPair& pair : pairs) {
    if (pair.test) p_values.push_back(pair.test->p);
  }
  const std::vector<double> adjusted = HolmAdjusted(p_values);
  size_t next = 0;
  for (ComparisonPair& pair : pairs) {
    if (pair.test) pair.adjusted_p = adjusted[next++];
    pair.verdict = Verdict(pair, p_values.size() > 1);
  }
  return pairs;
}

Plot ComparisonPlot(const Comparison& comparison) {
  const RunConfig& recipe = comparison.recipe;
  const size_t seeds = comparison.seeds.size();
  Plot plot;
  plot.title =
      fmt::format("{} on {}{}, {}", ModelName(recipe.model), recipe.dataset,
                  recipe.augment == AugmentKind::kNone ? "" : "+",
                  seeds == 1 ? "one seed"
                             : fmt::format("mean of {} seeds and one "
                                           "deviation",
                                           seeds));
  plot.x_label = "epoch";
  plot.y_label = "test error, %";
  plot.falling = true;
  for (const ComparedRuns& row : comparison.rows) {
    PlotSeries curve = Curve(
        row, fmt::format("{}, rate {}", row.optimizer, row.learning_rate));
    if (curve.x.empty()) continue;
    // Neighbours of the palette look alike; these are far apart.
    curve.style = 3 * plot.series.size();
    plot.series.push_back(std::move(curve));
  }
  return plot;
}

}  // namespace densenet
