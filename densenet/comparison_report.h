// densenet/comparison_report.h
//
// What a finished comparison says: for each optimizer the mean and sample
// deviation of its errors over the seeds, for each pair of optimizers whether
// they differ (paired t test, Holm's correction), in words too. Final errors
// and best ones are never mixed: tests are of the final ones.
//
// Threads  safe

#ifndef DENSENET_DENSENET_COMPARISON_REPORT_H_
#define DENSENET_DENSENET_COMPARISON_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "densenet/comparison.h"
#include "densenet/plot.h"
#include "densenet/run_config.h"
#include "densenet/seed_statistics.h"

namespace densenet {

struct ComparisonRow {
  std::string optimizer;
  double learning_rate = 0;
  // Over the seeds with which it did not diverge; nothing without any.
  std::optional<SampleSummary> final_error;
  std::optional<SampleSummary> best_error;
  std::vector<uint64_t> diverged;  // seeds
  double training_seconds = 0;
};

// Of the final errors of two optimizers, the first minus the second.
struct ComparisonPair {
  std::string first;
  std::string second;
  std::vector<double> differences;  // by seed; empty when one diverged
  std::optional<SampleSummary> difference;
  std::optional<PairedTest> test;
  std::optional<double> adjusted_p;  // Holm's, over all pairs with a test
  std::string verdict;               // a sentence

  bool significant() const {
    return adjusted_p && *adjusted_p < kSignificanceLevel;
  }
};

std::vector<ComparisonRow> SummarizeRuns(const Comparison& comparison);
std::vector<ComparisonPair> ComparePairs(const Comparison& comparison);

// The report for people.
std::string ComparisonText(const Comparison& comparison);
// {"rows": [...], "pairs": [...], ...}
Json ComparisonJson(const Comparison& comparison);
// A row for each run.
std::string ComparisonCsv(const Comparison& comparison);
// Test error against epochs: the mean over the seeds, and a band of one
// deviation to either side.
Plot ComparisonPlot(const Comparison& comparison);

}  // namespace densenet

#endif  // DENSENET_DENSENET_COMPARISON_REPORT_H_
