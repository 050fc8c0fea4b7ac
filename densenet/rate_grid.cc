#include "densenet/rate_grid.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <cmath>
#include <cstdlib>

namespace densenet {
namespace {

// Rates of the series by number: 0 is 1, 1 is 3, 2 is 10, -1 is 0.3.
double SeriesRate(int number) {
  const int exponent = number >= 0 ? number / 2 : (number - 1) / 2;
  const int mantissa = number - 2 * exponent == 0 ? 1 : 3;
  // The double that a user's "0.03" is; a product would be another.
  return std::strtod(fmt::format("{}e{}", mantissa, exponent).c_str(), nullptr);
}

// The number of the largest rate of the series that is not above `rate`.
int NumberBelow(double rate) {
  int number = static_cast<int>(std::floor(2 * std::log10(rate))) - 1;
  while (SeriesRate(number + 1) <= rate) ++number;
  return number;
}

struct UsualRate {
  std::string_view optimizer;
  int number;  // in the series
};

// Where the recipe's other parts are the paper's: 0.1 for methods that step
// along the gradient, 0.01 and 0.001 for those that divide by its size, as
// their authors and the common frameworks have them.
constexpr UsualRate kUsual[] = {
    {"sgd", -2},     {"momentum", -2}, {"nesterov", -2}, {"adagrad", -4},
    {"rmsprop", -6}, {"adam", -6},     {"adamw", -6},
};

}  // namespace

StatusOr<std::vector<double>> UsualRates(std::string_view optimizer) {
  for (const UsualRate& usual : kUsual) {
    if (usual.optimizer != optimizer) continue;
    return std::vector<double>{SeriesRate(usual.number - 1),
                               SeriesRate(usual.number),
                               SeriesRate(usual.number + 1)};
  }
  return InvalidArgument(fmt::format(
      "--lrs auto knows no usual rate of {}: give a list of rates", optimizer));
}

size_t BestPoint(absl::Span<const RatePoint> points) {
  CHECK(!points.empty());
  size_t best = 0;
  for (size_t i = 1; i < points.size(); ++i) {
    if (!points[i].error_percent) continue;
    const RatePoint& b = points[best];
    if (!b.error_percent || *points[i].error_percent < *b.error_percent ||
        (*points[i].error_percent == *b.error_percent &&
         points[i].loss < b.loss)) {
      best = i;
    }
  }
  return best;
}

GridEdge EdgeOf(absl::Span<const RatePoint> points) {
  const size_t best = BestPoint(points);
  if (best == 0) return GridEdge::kLowest;
  return best + 1 == points.size() ? GridEdge::kHighest : GridEdge::kNone;
}

double RateBeyond(absl::Span<const RatePoint> points, GridEdge edge) {
  CHECK(edge != GridEdge::kNone);
  if (edge == GridEdge::kHighest) {
    return SeriesRate(NumberBelow(points.back().rate) + 1);
  }
  const int number = NumberBelow(points.front().rate);
  return SeriesRate(number) < points.front().rate ? SeriesRate(number)
                                                  : SeriesRate(number - 1);
}

}  // namespace densenet
