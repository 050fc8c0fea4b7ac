// tests/support/tolerance.h
//
// The one place where tests get tolerances from; docs/numerics.md explains it.

#ifndef DENSENET_TESTS_SUPPORT_TOLERANCE_H_
#define DENSENET_TESTS_SUPPORT_TOLERANCE_H_

#include <cstdint>

#include "core/dtype.h"

namespace densenet::testing {

// Unit roundoff of a type.
double Roundoff(DType dtype);

// The relative error allowed of a value that sums `terms` rounded products in
// any order, against the exact sum of the same rounded inputs, as a fraction
// of the largest magnitude of the compared tensor: (8 + 4 sqrt(terms))
// roundoffs. Rounding errors of independent signs grow like sqrt(terms).
double RelativeTolerance(DType dtype, int64_t terms);

// Relative 2-norm allowed between a central difference in float64 and an
// analytic float32 gradient of `terms` summed products.
double GradientTolerance(int64_t terms);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_TOLERANCE_H_
