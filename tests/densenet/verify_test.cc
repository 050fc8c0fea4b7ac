#include "densenet/verify.h"

#include <gtest/gtest.h>

#include <string>

#include "densenet/strategy.h"
#include "densenet/synthetic_batch.h"
#include "memory/host_memory.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

ModelConfig Small() {
  ModelConfig model;
  model.block_config = {2, 2};
  model.growth_rate = 4;
  model.stem_channels = 8;
  model.image_height = model.image_width = 8;
  return model;
}

TEST(VerifyTest, EveryStrategyWithAndWithoutDropoutAndTheNoiseFloor) {
  const auto ctx = testing::MakeContext(2);
  HostMemory memory;
  auto batch = SyntheticBatch::Create(memory, Small(), 6, /*seed=*/3);
  ASSERT_OK(batch);
  auto rows =
      VerifyStrategies(*ctx, memory, Small(), AllStrategies(), /*dropout=*/0.3,
                       batch->images(), batch->labels(), /*seed=*/5);
  ASSERT_OK(rows);
  const size_t strategies = AllStrategies().size();
  ASSERT_EQ(rows->size(), 2 * strategies + 1);
  for (const VerifyRow& row : *rows) {
    EXPECT_TRUE(row.passed) << row.strategy;
    if (row.strategy == "noise floor") {
      // The order of sums changed, and nothing else.
      EXPECT_GT(row.gradient_error, 0);
      EXPECT_LT(row.gradient_error, kVerifyGradientBound);
      continue;
    }
    EXPECT_EQ(row.loss_error, 0);
    EXPECT_EQ(row.statistics_error, 0);
    EXPECT_EQ(row.mask_flips, 0);
    const bool deferred =
        TraitsOf(*ParseStrategy(row.strategy)).defers_correction;
    EXPECT_EQ(row.gradient_error > 0, deferred) << row.strategy;
  }
  EXPECT_EQ((*rows)[strategies].strategy, "noise floor");
  EXPECT_EQ((*rows)[0].dropout, 0);
  EXPECT_EQ(rows->back().dropout, 0.3);
}

TEST(VerifyTest, ImagesOfAnotherSizeAreAnError) {
  const auto ctx = testing::MakeContext(1);
  HostMemory memory;
  ModelConfig other = Small();
  other.image_height = 10;
  auto batch = SyntheticBatch::Create(memory, other, 2, 3);
  ASSERT_OK(batch);
  EXPECT_THAT(VerifyStrategies(*ctx, memory, Small(), AllStrategies(), 0,
                               batch->images(), batch->labels(), 5),
              testing::Fails(StatusCode::kInvalidArgument, {"(2, 10, 8, 3)"}));
}

}  // namespace
}  // namespace densenet
