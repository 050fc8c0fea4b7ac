// core/ops/batch_norm_math.h
//
// The arithmetic of one batch-norm channel, used by the CPU path and the CUDA
// kernels alike. The forward is everywhere the same fma(x, scale, shift), so
// that what is recomputed equals, bit for bit, what was stored.

#ifndef DENSENET_CORE_OPS_BATCH_NORM_MATH_H_
#define DENSENET_CORE_OPS_BATCH_NORM_MATH_H_

#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace densenet {

// y = fma(x, scale, shift)
struct ScaleShift {
  float scale;
  float shift;
};

// scale = gamma * inv_std, shift = beta - mean * scale, one rounding each.
DENSENET_HOST_DEVICE inline ScaleShift BatchNormScaleShift(float gamma,
                                                           float beta,
                                                           float mean,
                                                           float inv_std) {
  const float scale = gamma * inv_std;
  return {scale, std::fma(-mean, scale, beta)};
}

// 1 / sqrt(variance + epsilon), computed in float64.
DENSENET_HOST_DEVICE inline float InverseStd(double variance, double epsilon) {
  return static_cast<float>(1.0 / std::sqrt(variance + epsilon));
}

// Count, mean and sum of squared deviations from the mean of a set of numbers;
// sets are merged without cancellation (Chan, Golub, LeVeque, "Updating
// formulae and a pairwise algorithm for computing sample variances", 1979).
struct Moments {
  int64_t count = 0;
  double mean = 0;
  double m2 = 0;
};

DENSENET_HOST_DEVICE inline Moments MergeMoments(const Moments& a,
                                                 const Moments& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const int64_t count = a.count + b.count;
  const double delta = b.mean - a.mean;
  const double weight =
      static_cast<double>(b.count) / static_cast<double>(count);
  return {count, a.mean + delta * weight,
          a.m2 + b.m2 + delta * delta * weight * static_cast<double>(a.count)};
}

// The running average after a step; `momentum` is the weight of the new
// statistic.
DENSENET_HOST_DEVICE inline float UpdateRunning(float running, double batch,
                                                double momentum) {
  return static_cast<float>((1.0 - momentum) * static_cast<double>(running) +
                            momentum * batch);
}

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_BATCH_NORM_MATH_H_
