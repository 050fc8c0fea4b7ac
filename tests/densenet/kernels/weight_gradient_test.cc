#include "densenet/kernels/weight_gradient.h"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "tests/densenet/kernels/kernel_case.h"
#include "tests/support/make_context.h"

namespace densenet {
namespace {

using namespace testing;  // NOLINT: the helpers of this folder

// (elements, chunks): around the size of a task, and more than all tasks hold.
class ReduceWeightGradientKernelTest
    : public ::testing::TestWithParam<std::tuple<int64_t, int64_t>> {};

TEST_P(ReduceWeightGradientKernelTest, AddsTheChunksInOrder) {
  const auto [elems, chunks] = GetParam();
  const TestTensor partials = TestTensor::Random({chunks, elems}, 1);
  TestTensor expected({elems});
  for (int64_t e = 0; e < elems; ++e) {
    float sum = partials.at(e);
    for (int64_t i = 1; i < chunks; ++i) sum += partials.at(i * elems + e);
    expected.at(e) = sum;
  }
  for (int threads : kThreadCounts) {
    const auto ctx = MakeContext(threads);
    TestTensor dw = PoisonedTensor({elems});
    ReduceWeightGradient(*ctx, Data(partials), chunks, elems, Data(dw));
    EXPECT_TRUE(SameBits(dw, expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ReduceWeightGradientKernelTest,
                         ::testing::Combine(::testing::Values(1, 5, 4095, 4096,
                                                              4097, 300000),
                                            ::testing::Values(1, 3, 16)));

TEST(TransposeWeightsKernelTest, SwapsRowsAndColumns) {
  for (const auto& [c, k] :
       {std::pair<int64_t, int64_t>{1, 1}, {1, 7}, {130, 1}, {63, 65}}) {
    const TestTensor w = TestTensor::Random({c, k}, 1);
    TestTensor wt = PoisonedTensor({k, c});
    TransposeWeights(c, k, Data(w), Data(wt));
    for (int64_t i = 0; i < c; ++i) {
      for (int64_t j = 0; j < k; ++j) {
        ASSERT_EQ(wt.at(j * c + i), w.at(i * k + j));
      }
    }
    TestTensor back = PoisonedTensor({c, k});
    TransposeWeights(k, c, Data(wt), Data(back));
    EXPECT_TRUE(SameBits(back, w));
  }
}

}  // namespace
}  // namespace densenet
