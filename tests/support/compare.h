// tests/support/compare.h
//
// Comparisons of tensors with a float64 reference, that say where they fail.

#ifndef DENSENET_TESTS_SUPPORT_COMPARE_H_
#define DENSENET_TESTS_SUPPORT_COMPARE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace densenet::testing {

// The elements of a float32 / float64 view of any strides, in row-major order.
std::vector<double> ToVector(ConstTensorView view);

// Fails with worst index, both values and the fraction of the bound when an
// element of `actual` differs from `expected` (row-major) by more than
// RelativeTolerance(dtype, terms) times the largest |expected|.
::testing::AssertionResult Near(ConstTensorView actual,
                                const std::vector<double>& expected,
                                int64_t terms);

// |a - b| / |b|, 2-norms; 0 when both are 0.
double RelativeNorm(const std::vector<double>& a, const std::vector<double>& b);

// The same bits in every element; names the first that differs.
::testing::AssertionResult BitwiseEqual(ConstTensorView a, ConstTensorView b);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_COMPARE_H_
