// core/normal_quantile.h
//
// The quantile function of the standard normal distribution: turns one uniform
// number into one normal number, so that element i of a random tensor depends
// on number i of its stream alone.
//
// Numerics  relative error about 1e-16 (Wichura, "Algorithm AS 241: The
//           percentage points of the normal distribution", 1988)

#ifndef DENSENET_CORE_NORMAL_QUANTILE_H_
#define DENSENET_CORE_NORMAL_QUANTILE_H_

namespace densenet {

// The z with P(normal <= z) = p. CHECKs 0 < p < 1.
double NormalQuantile(double p);

}  // namespace densenet

#endif  // DENSENET_CORE_NORMAL_QUANTILE_H_
