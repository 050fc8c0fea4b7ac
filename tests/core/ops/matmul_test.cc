#include "core/ops/matmul.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"
#include "tests/support/test_workspace.h"

namespace densenet {
namespace {

using testing::BitwiseEqual;
using testing::Fails;
using testing::MakeContext;
using testing::Near;
using testing::TestTensor;
using testing::TestWorkspace;

// (M, N, K), transposes and accumulation as bits, gap of the rows.
using MatMulCase = std::tuple<Shape, int, int64_t>;

MatMulParams Params(int bits) {
  return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
}

Shape Stored(int64_t rows, int64_t columns, bool transposed) {
  return transposed ? Shape{columns, rows} : Shape{rows, columns};
}

std::vector<double> Reference(const TestTensor& a, const TestTensor& b,
                              const TestTensor& y, const MatMulParams& params) {
  const int64_t m = y.shape()[0];
  const int64_t n = y.shape()[1];
  const int64_t k = a.shape()[params.transpose_a ? 0 : 1];
  std::vector<double> out(m * n, 0.0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = params.accumulate ? y.at(i * n + j) : 0.0;
      for (int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(
                   a.at(params.transpose_a ? l * m + i : i * k + l)) *
               b.at(params.transpose_b ? j * k + l : l * n + j);
      }
      out[i * n + j] = sum;
    }
  }
  return out;
}

class MatMulTest : public ::testing::TestWithParam<MatMulCase> {};

TEST_P(MatMulTest, AgreesWithReferenceForAnyThreads) {
  const auto& [extents, bits, gap] = GetParam();
  const MatMulParams params = Params(bits);
  const int64_t m = extents[0];
  const int64_t n = extents[1];
  const int64_t k = extents[2];
  const TestTensor a =
      TestTensor::Random(Stored(m, k, params.transpose_a), 1, gap);
  const TestTensor b =
      TestTensor::Random(Stored(k, n, params.transpose_b), 2, 2 * gap);
  const TestTensor before = TestTensor::Random({m, n}, 3, gap);
  TestTensor one = before;
  for (int threads : {1, 2, 3}) {
    const auto ctx = MakeContext(threads);
    TestTensor y = before;
    TestWorkspace scratch(
        *MatMulWorkspaceBytes(*ctx, a.view(), b.view(), params, y.view()));
    ASSERT_OK(
        MatMul(*ctx, a.view(), b.view(), params, y.view(), scratch.span()));
    EXPECT_TRUE(scratch.Intact());
    EXPECT_TRUE(y.GapsUntouched());
    EXPECT_TRUE(Near(y.const_view(), Reference(a, b, before, params), k + 1));
    if (threads == 1) one = y;
    EXPECT_TRUE(BitwiseEqual(one.const_view(), y.const_view()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MatMulTest,
    ::testing::Combine(::testing::Values(Shape{1, 1, 1}, Shape{1, 7, 3},
                                         Shape{5, 1, 9}, Shape{64, 10, 342},
                                         Shape{65, 66, 257}, Shape{131, 12, 48},
                                         Shape{3, 200, 31}, Shape{17, 5, 1}),
                       ::testing::Range(0, 8),
                       ::testing::Values(int64_t{0}, int64_t{3})));

TEST(MatMulErrorTest, NamesOperandsAndExtents) {
  const auto ctx = MakeContext(1);
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  const TestTensor a({2, 3});
  const TestTensor b({4, 5});
  TestTensor y({2, 5});
  TestWorkspace scratch(1024);
  EXPECT_THAT(MatMul(*ctx, a.view(), b.view(), {}, y.view(), scratch.span()),
              Fails(kInvalid, {"MatMul: a has shape (2, 3), b has shape (4, 5)",
                               "inner extents are 3 and 4"}));
  EXPECT_THAT(MatMul(*ctx, a.view(), b.view(), {true, true, false}, y.view(),
                     scratch.span()),
              Fails(kInvalid, {"(2, 3) (transposed)", "2 and 5"}));
  const TestTensor wide({3, 6});
  EXPECT_THAT(MatMul(*ctx, a.view(), wide.view(), {}, y.view(), scratch.span()),
              Fails(kInvalid, {"y has shape (2, 5), must be (2, 6)"}));
  const TestTensor cube({2, 3, 1});
  EXPECT_THAT(MatMul(*ctx, cube.view(), b.view(), {}, y.view(), scratch.span()),
              Fails(kInvalid, {"a has shape (2, 3, 1), must have rank 2"}));
  const TestTensor fits({5, 3});
  EXPECT_THAT(MatMul(*ctx, a.view(), fits.view(), {false, true, false},
                     y.view(), scratch.span().subspan(0, 3)),
              Fails(kInvalid, {"MatMul: workspace of 3 bytes, needs 64"}));
}

}  // namespace
}  // namespace densenet
