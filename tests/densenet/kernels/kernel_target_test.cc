#include "tests/support/kernel_target.h"

#include <gtest/gtest.h>

#include "core/cpu/gemm.h"

namespace densenet {
namespace {

using testing::KernelTarget;

[[maybe_unused]] const auto* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new testing::KernelTargetEnvironment);

// A run meant for another target than the machine's best must not pass by
// testing the best again.
TEST(KernelTargetTest, IsTheOneThatRuns) {
  const bool jit = Gemm({64, 48, 24, 24, 48, 48}).is_jit();
  const bool batch_jit = BatchGemm({32, 12, 48, 48, 12, 12}).is_jit();
  EXPECT_EQ(batch_jit, jit);
  switch (testing::ChosenKernelTarget()) {
    case KernelTarget::kBest:
      return;
    case KernelTarget::kAvx2:
      EXPECT_EQ(GemmTarget(), "hsw");
      EXPECT_TRUE(jit);
      return;
    case KernelTarget::kPortable:
      EXPECT_FALSE(jit);
      EXPECT_FALSE(testing::HasFusedMultiplyAdd());
      return;
  }
}

}  // namespace
}  // namespace densenet
