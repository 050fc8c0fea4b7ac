#include "core/cpu/gemm_rate.h"

#include <gtest/gtest.h>

#include "tests/support/make_context.h"

namespace densenet {
namespace {

TEST(GemmRateTest, IsAPositiveRate) {
  const auto ctx = testing::MakeContext(2);
  EXPECT_GT(MeasureGemmRate(*ctx, /*seconds=*/0.001), 0);
}

}  // namespace
}  // namespace densenet
