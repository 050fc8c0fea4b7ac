// tests/support/affine_relu_reference.h
//
// Naive float64 max(x * s + t, 0) per channel.

#ifndef DENSENET_TESTS_SUPPORT_AFFINE_RELU_REFERENCE_H_
#define DENSENET_TESTS_SUPPORT_AFFINE_RELU_REFERENCE_H_

#include <algorithm>
#include <vector>

#include "tests/support/test_tensor.h"

namespace densenet::testing {

inline std::vector<double> AffineReluReference(const TestTensor& x,
                                               const TestTensor& s,
                                               const TestTensor& t) {
  std::vector<double> y(x.elems());
  for (int64_t i = 0; i < x.elems(); ++i) {
    const int64_t c = i % s.elems();
    y[i] = std::max(0.0, double{x.at(i)} * s.at(c) + t.at(c));
  }
  return y;
}

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_AFFINE_RELU_REFERENCE_H_
