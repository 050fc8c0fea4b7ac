// tests/support/gradient_check.h
//
// Holds an analytic gradient against central differences in float64.

#ifndef DENSENET_TESTS_SUPPORT_GRADIENT_CHECK_H_
#define DENSENET_TESTS_SUPPORT_GRADIENT_CHECK_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/support/numeric_gradient.h"

namespace densenet::testing {

// Compares gradient . d with the central difference of `loss` at `x` along
// random directions d. The step is the cube root of the roundoff, where the
// truncation error (step^2) meets the rounding error (roundoff / step); the
// bound allows 64 times that, relative to |gradient| |d|. The loss must be
// smooth within a step of x.
::testing::AssertionResult GradientMatches(
    const std::function<double(const std::vector<double>&)>& loss,
    const std::vector<double>& x, const std::vector<double>& gradient,
    uint64_t seed);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_GRADIENT_CHECK_H_
