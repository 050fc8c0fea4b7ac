#include "densenet/seed_statistics.h"

#include <glog/logging.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace densenet {

SampleSummary Summarize(absl::Span<const double> values) {
  CHECK(!values.empty());
  const double count = static_cast<double>(values.size());
  SampleSummary summary;
  summary.count = static_cast<int64_t>(values.size());
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2) return summary;
  double squares = 0;
  for (double value : values) {
    squares += (value - summary.mean) * (value - summary.mean);
  }
  summary.deviation = std::sqrt(squares / (count - 1));
  return summary;
}

std::optional<PairedTest> TestPaired(absl::Span<const double> differences) {
  if (differences.size() < 2) return std::nullopt;
  // Compared as they are: a mean that rounds would invent a spread.
  const bool alike = std::all_of(differences.begin(), differences.end(),
                                 [&](double d) { return d == differences[0]; });
  if (alike) return std::nullopt;
  const SampleSummary summary = Summarize(differences);
  const double error =
      *summary.deviation / std::sqrt(static_cast<double>(summary.count));
  PairedTest test;
  test.degrees_of_freedom = summary.count - 1;
  test.t = summary.mean / error;
  const boost::math::students_t distribution(
      static_cast<double>(test.degrees_of_freedom));
  test.p = 2 * cdf(complement(distribution, std::abs(test.t)));
  const double reach =
      quantile(complement(distribution, kSignificanceLevel / 2)) * error;
  test.low = summary.mean - reach;
  test.high = summary.mean + reach;
  return test;
}

std::vector<double> HolmAdjusted(absl::Span<const double> p_values) {
  std::vector<size_t> rising(p_values.size());
  std::iota(rising.begin(), rising.end(), size_t{0});
  std::stable_sort(rising.begin(), rising.end(), [&](size_t a, size_t b) {
    return p_values[a] < p_values[b];
  });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (size_t i = 0; i < rising.size(); ++i) {
    const double left = static_cast<double>(rising.size() - i);
    largest = std::max(largest, std::min(1.0, left * p_values[rising[i]]));
    adjusted[rising[i]] = largest;
  }
  return adjusted;
}

}  // namespace densenet
