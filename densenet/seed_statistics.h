// densenet/seed_statistics.h
//
// What results of several seeds say: mean and sample deviation, and whether two
// methods that ran with the same seeds differ (paired t test). Formulas are in
// docs/comparisons.md.
//
// Numerics  float64; distributions are Boost.Math's
// Threads   safe

#ifndef DENSENET_DENSENET_SEED_STATISTICS_H_
#define DENSENET_DENSENET_SEED_STATISTICS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace densenet {

// What p-values are held to, and what intervals leave out.
inline constexpr double kSignificanceLevel = 0.05;

struct SampleSummary {
  int64_t count = 0;
  double mean = 0;
  // Sample deviation, with count - 1; nothing for a single value.
  std::optional<double> deviation;
};

// CHECKs that there are values.
SampleSummary Summarize(absl::Span<const double> values);

struct PairedTest {
  int64_t degrees_of_freedom = 0;
  double t = 0;
  double p = 0;  // two-sided
  // 95 % confidence interval of the mean difference.
  double low = 0;
  double high = 0;

  friend bool operator==(const PairedTest&, const PairedTest&) = default;
};

// Of the differences of pairs. Nothing with fewer than two, or where all are
// alike: without spread there is no t.
std::optional<PairedTest> TestPaired(absl::Span<const double> differences);

// Holm's correction of the p-values of several tests, in their order: at most
// 1, so that all comparisons together err with the stated probability.
std::vector<double> HolmAdjusted(absl::Span<const double> p_values);

}  // namespace densenet

#endif  // DENSENET_DENSENET_SEED_STATISTICS_H_
