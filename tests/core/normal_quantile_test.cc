#include "core/normal_quantile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tolerance.h"

namespace densenet {
namespace {

// The distribution function is the C library's: erfc is another algorithm.
TEST(NormalQuantileTest, InvertsTheDistributionFunction) {
  for (int exponent = -33; exponent < 0; ++exponent) {
    for (double mantissa : {1.0, 1.3, 1.9}) {
      const double p = std::ldexp(mantissa, exponent);
      if (p > 0.5) continue;
      const double z = NormalQuantile(p);
      const double back = 0.5 * std::erfc(-z / std::sqrt(2.0));
      // A relative error of z becomes one of p, z^2 times as large.
      EXPECT_NEAR(back / p, 1.0,
                  testing::RelativeTolerance(DType::kFloat64, 1) * (1 + z * z))
          << p;
      if (p < 0.5) {
        EXPECT_NEAR(NormalQuantile(1 - p), -z,
                    std::ldexp(1.0, -53) / p * 2 + std::abs(z) * 1e-15)
            << p;
      }
    }
  }
  EXPECT_EQ(NormalQuantile(0.5), 0.0);
}

}  // namespace
}  // namespace densenet
