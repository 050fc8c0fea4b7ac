#include "tests/support/gradient_check.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "tests/support/tolerance.h"

namespace densenet::testing {

::testing::AssertionResult GradientMatches(
    const std::function<double(const std::vector<double>&)>& loss,
    const std::vector<double>& x, const std::vector<double>& gradient,
    uint64_t seed) {
  CHECK_EQ(x.size(), gradient.size());
  constexpr uint32_t kDirections = 4;
  const double step = std::cbrt(Roundoff(DType::kFloat64));
  for (uint32_t direction = 0; direction < kDirections; ++direction) {
    std::vector<double> d(x.size());
    for (size_t i = 0; i < d.size(); ++i) {
      d[i] = 2 * UniformFloat(RandomBits({seed, direction, 0}, i)) - 1;
    }
    std::vector<double> above = x;
    std::vector<double> below = x;
    for (size_t i = 0; i < x.size(); ++i) {
      above[i] += step * d[i];
      below[i] -= step * d[i];
    }
    const double loss_above = loss(above);
    const double loss_below = loss(below);
    const double difference = (loss_above - loss_below) / (2 * step);
    const double analytic = Dot(gradient, d);
    const double scale =
        std::max({std::sqrt(Dot(gradient, gradient) * Dot(d, d)),
                  std::abs(loss_above), 1.0});
    const double bound = 64 * step * step * scale;
    if (!(std::abs(difference - analytic) <= bound)) {
      return ::testing::AssertionFailure()
             << "along direction " << direction << " the gradient says "
             << analytic << ", the central difference " << difference << ": "
             << std::abs(difference - analytic) / bound << " times the bound";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace densenet::testing
