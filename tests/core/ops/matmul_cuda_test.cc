#include "core/ops/matmul_cuda.h"

#include <gtest/gtest.h>

#include <ostream>
#include <tuple>
#include <vector>

#include "core/ops/matmul.h"
#include "tests/support/compare.h"
#include "tests/support/cuda_test.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::CudaTest;
using ::densenet::testing::DeviceTensor;
using ::densenet::testing::Near;
using ::densenet::testing::TestTensor;

struct Extents {
  int64_t m, k, n;

  friend void PrintTo(const Extents& e, std::ostream* out) {
    *out << Shape{e.m, e.k, e.n};
  }
};

// extents, row gap, transpose a, transpose b, accumulate
class MatMulCudaTest : public CudaTest,
                       public ::testing::WithParamInterface<
                           std::tuple<Extents, int, bool, bool, bool>> {};

std::vector<double> Reference(const Extents& e, const MatMulParams& params,
                              const TestTensor& a, const TestTensor& b,
                              const TestTensor& y) {
  std::vector<double> sums(e.m * e.n);
  for (int64_t i = 0; i < e.m; ++i) {
    for (int64_t j = 0; j < e.n; ++j) {
      double sum = params.accumulate ? y.at(i * e.n + j) : 0;
      for (int64_t l = 0; l < e.k; ++l) {
        sum += double{a.at(params.transpose_a ? l * e.m + i : i * e.k + l)} *
               b.at(params.transpose_b ? j * e.k + l : l * e.n + j);
      }
      sums[i * e.n + j] = sum;
    }
  }
  return sums;
}

TEST_P(MatMulCudaTest, MatchesFloat64AndRepeatsItself) {
  const auto& [e, gap, transpose_a, transpose_b, accumulate] = GetParam();
  const MatMulParams params{transpose_a, transpose_b, accumulate};
  TestTensor a = TestTensor::Random(
      transpose_a ? Shape{e.k, e.m} : Shape{e.m, e.k}, 1, gap);
  TestTensor b =
      TestTensor::Random(transpose_b ? Shape{e.n, e.k} : Shape{e.k, e.n}, 2);
  TestTensor y = TestTensor::Random({e.m, e.n}, 3, 2 * gap);
  const std::vector<double> expected = Reference(e, params, a, b, y);
  TestTensor again = y;
  const DeviceTensor card_a = ToDevice(a);
  const DeviceTensor card_b = ToDevice(b);
  for (TestTensor* out : {&y, &again}) {
    const DeviceTensor card_y = ToDevice(*out);
    const StatusOr<int64_t> bytes =
        MatMulWorkspaceBytes(ctx(), card_a.const_view(), card_b.const_view(),
                             params, card_y.const_view());
    ASSERT_OK(bytes);
    ASSERT_OK(MatMul(ctx(), card_a.const_view(), card_b.const_view(), params,
                     card_y.view(), Workspace(*bytes)));
    card_y.Read(ctx(), *out);
  }
  EXPECT_TRUE(Near(y.view(), expected, e.k + 1));
  EXPECT_TRUE(y.GapsUntouched());
  EXPECT_TRUE(BitwiseEqual(y.view(), again.view()));
}

INSTANTIATE_TEST_SUITE_P(
    Views, MatMulCudaTest,
    ::testing::Combine(::testing::Values(Extents{1, 1, 1}, Extents{3, 7, 5},
                                         Extents{147, 36, 48},
                                         Extents{1000, 129, 33}),
                       ::testing::Values(0, 13), ::testing::Bool(),
                       ::testing::Bool(), ::testing::Bool()));

}  // namespace
}  // namespace densenet
