#include "tests/support/reference_batch_norm.h"

#include <cmath>

namespace densenet::testing {

using Doubles = std::vector<double>;

Doubles ReferenceBatchNorm::Mean(const Doubles& x) const {
  Doubles mean(channels, 0.0);
  for (int64_t i = 0; i < rows * channels; ++i) mean[i % channels] += x[i];
  for (double& m : mean) m /= static_cast<double>(rows);
  return mean;
}

Doubles ReferenceBatchNorm::Variance(const Doubles& x) const {
  const Doubles mean = Mean(x);
  Doubles variance(channels, 0.0);
  for (int64_t i = 0; i < rows * channels; ++i) {
    const double e = x[i] - mean[i % channels];
    variance[i % channels] += e * e;
  }
  for (double& v : variance) v /= static_cast<double>(rows);
  return variance;
}

Doubles ReferenceBatchNorm::InverseStd(const Doubles& variance) const {
  Doubles inverse(channels);
  for (int64_t c = 0; c < channels; ++c) {
    inverse[c] = 1 / std::sqrt(variance[c] + epsilon);
  }
  return inverse;
}

Doubles ReferenceBatchNorm::Apply(const Doubles& x, const Doubles& gamma,
                                  const Doubles& beta, const Doubles& mean,
                                  const Doubles& variance) const {
  const Doubles inverse = InverseStd(variance);
  Doubles y(x.size());
  for (int64_t i = 0; i < rows * channels; ++i) {
    const int64_t c = i % channels;
    y[i] = gamma[c] * (x[i] - mean[c]) * inverse[c] + beta[c];
  }
  return y;
}

ReferenceBatchNorm::Gradients ReferenceBatchNorm::Backward(
    const Doubles& x, const Doubles& dy, const Doubles& gamma,
    const Doubles& mean, const Doubles& variance, bool train) const {
  const Doubles inverse = InverseStd(variance);
  Gradients g{Doubles(x.size()), Doubles(channels, 0.0),
              Doubles(channels, 0.0)};
  for (int64_t i = 0; i < rows * channels; ++i) {
    const int64_t c = i % channels;
    g.dgamma[c] += dy[i] * (x[i] - mean[c]) * inverse[c];
    g.dbeta[c] += dy[i];
  }
  const double m = static_cast<double>(rows);
  for (int64_t i = 0; i < rows * channels; ++i) {
    const int64_t c = i % channels;
    const double normalized = (x[i] - mean[c]) * inverse[c];
    double value = dy[i];
    if (train) value -= g.dbeta[c] / m + normalized * g.dgamma[c] / m;
    g.dx[i] = gamma[c] * inverse[c] * value;
  }
  return g;
}

}  // namespace densenet::testing
