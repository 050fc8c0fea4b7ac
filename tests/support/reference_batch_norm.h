// tests/support/reference_batch_norm.h
//
// Batch normalization in float64 by its definition, with batch statistics;
// (rows, channels) row-major vectors.

#ifndef DENSENET_TESTS_SUPPORT_REFERENCE_BATCH_NORM_H_
#define DENSENET_TESTS_SUPPORT_REFERENCE_BATCH_NORM_H_

#include <cstdint>
#include <vector>

namespace densenet::testing {

struct ReferenceBatchNorm {
  using Doubles = std::vector<double>;

  int64_t rows, channels;
  double epsilon;

  Doubles Mean(const Doubles& x) const;
  // Biased: divided by the number of rows.
  Doubles Variance(const Doubles& x) const;
  Doubles InverseStd(const Doubles& variance) const;

  // With given statistics: eval and frozen; with Mean and Variance: train.
  Doubles Apply(const Doubles& x, const Doubles& gamma, const Doubles& beta,
                const Doubles& mean, const Doubles& variance) const;

  struct Gradients {
    Doubles dx, dgamma, dbeta;
  };
  // Statistics are functions of x when `train`, constants otherwise.
  Gradients Backward(const Doubles& x, const Doubles& dy, const Doubles& gamma,
                     const Doubles& mean, const Doubles& variance,
                     bool train) const;
};

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_REFERENCE_BATCH_NORM_H_
