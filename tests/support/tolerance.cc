#include "tests/support/tolerance.h"

#include <cmath>

namespace densenet::testing {

double Roundoff(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return std::ldexp(1.0, -53);
    case DType::kBFloat16:
      return std::ldexp(1.0, -8);
    default:
      return std::ldexp(1.0, -24);
  }
}

double RelativeTolerance(DType dtype, int64_t terms) {
  return (8 + 4 * std::sqrt(static_cast<double>(terms))) * Roundoff(dtype);
}

double GradientTolerance(int64_t terms) {
  return 16 * RelativeTolerance(DType::kFloat32, terms);
}

}  // namespace densenet::testing
