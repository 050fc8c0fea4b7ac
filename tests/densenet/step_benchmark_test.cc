// Reports add up; nothing here depends on how fast the machine is.

#include "densenet/step_benchmark.h"

#include <gtest/gtest.h>

#include "memory/host_memory.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

TEST(StepBenchmarkTest, ARowForEachStrategy) {
  const auto ctx = testing::MakeContext(2);
  HostMemory memory;
  StepBenchmarkOptions options;
  options.model.block_config = {1, 1};
  options.model.growth_rate = 4;
  options.model.image_height = options.model.image_width = 8;
  options.batch = 4;
  options.strategies = {Strategy::kNaive, Strategy::kFeaturesOnly};
  options.steps = 3;
  options.warm_up_steps = 1;
  auto rows = RunStepBenchmark(*ctx, memory, options);
  ASSERT_OK(rows);
  ASSERT_EQ(rows->size(), 2u);
  for (size_t i = 0; i < rows->size(); ++i) {
    const StepBenchmarkRow& row = (*rows)[i];
    EXPECT_EQ(row.strategy, options.strategies[i]);
    EXPECT_LE(row.fastest_seconds, row.median_seconds);
    EXPECT_LE(row.median_seconds, row.slowest_seconds);
    EXPECT_DOUBLE_EQ(row.images_per_second, 4 / row.median_seconds);
    EXPECT_DOUBLE_EQ(row.useful_gflops,
                     6e-9 * static_cast<double>(MultiplyAdds(options.model)) *
                         row.images_per_second);
    EXPECT_DOUBLE_EQ(row.share_of_gemm, row.useful_gflops / row.gemm_gflops);
    EXPECT_GT(row.planned_bytes, 0);
    EXPECT_FALSE(row.phases.empty());
  }
  EXPECT_EQ(memory.stats().active_bytes, 0);
}

TEST(StepBenchmarkTest, NoStepsIsAnError) {
  const auto ctx = testing::MakeContext(1);
  HostMemory memory;
  StepBenchmarkOptions options;
  options.steps = 0;
  EXPECT_THAT(RunStepBenchmark(*ctx, memory, options),
              testing::Fails(StatusCode::kInvalidArgument, {"steps"}));
}

}  // namespace
}  // namespace densenet
