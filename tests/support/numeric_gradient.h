// tests/support/numeric_gradient.h
//
// Central differences of a scalar function in float64.

#ifndef DENSENET_TESTS_SUPPORT_NUMERIC_GRADIENT_H_
#define DENSENET_TESTS_SUPPORT_NUMERIC_GRADIENT_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace densenet::testing {

// df/dx[i] for every i. The default step balances the rounding of f (2^-53 /
// step) and the cubic term (step^2) for values and derivatives near 1.
inline std::vector<double> NumericGradient(
    const std::function<double(const std::vector<double>&)>& f,
    std::vector<double> x, double step = 1e-5) {
  std::vector<double> gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + step;
    const double above = f(x);
    x[i] = at - step;
    const double below = f(x);
    x[i] = at;
    gradient[i] = (above - below) / (2 * step);
  }
  return gradient;
}

// sum a[i] * b[i]: the scalar whose gradient a backward pass of dy = b gives.
inline double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_NUMERIC_GRADIENT_H_
