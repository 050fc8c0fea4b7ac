#include "densenet/memory_report.h"

#include <gtest/gtest.h>

#include "memory/host_memory.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

ModelConfig Small(int64_t layers) {
  ModelConfig model;
  model.block_config = {layers, layers, layers};
  model.growth_rate = 4;
  model.stem_channels = 8;
  model.image_height = model.image_width = 16;
  return model;
}

MemoryRow Plan(const ModelConfig& model, Strategy strategy, int64_t batch) {
  const auto ctx = testing::MakeContext(2);
  auto row = PlanMemory(*ctx, model, strategy, batch);
  CHECK(row.ok()) << row.status();
  return *row;
}

TEST(MemoryReportTest, PartsAddUp) {
  for (Strategy strategy : AllStrategies()) {
    const MemoryRow row = Plan(Small(3), strategy, 4);
    EXPECT_EQ(row.activation_bytes, row.feature_bytes + row.stored_bytes +
                                        row.gradient_bytes + row.scratch_bytes);
    EXPECT_EQ(row.planned_bytes, row.activation_bytes + row.parameter_bytes +
                                     row.optimizer_bytes + row.input_bytes);
    EXPECT_GE(row.scratch_bytes, 0);
    EXPECT_FALSE(row.measured_bytes.has_value());
    EXPECT_EQ(row.depth, 22);
    EXPECT_EQ(row.growth_rate, 4);
    EXPECT_EQ(row.batch, 4);
  }
}

TEST(MemoryReportTest, PlannedIsMeasured) {
  for (Strategy strategy : AllStrategies()) {
    MemoryRow row = Plan(Small(2), strategy, 4);
    ASSERT_OK(MeasureMemory(Small(2), /*threads=*/2, /*steps=*/2, &row));
    EXPECT_EQ(row.measured_bytes, row.planned_bytes) << Name(strategy);
    EXPECT_GT(*row.resident_bytes, 0);
  }
}

// Resident memory after 200 steps is that after two, but for a page here and
// there.
TEST(MemoryReportTest, ResidentMemoryDoesNotGrowWithSteps) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory grows";
#endif
  constexpr int64_t kBound = int64_t{1} << 20;
  for (Strategy strategy : AllStrategies()) {
    MemoryRow two = Plan(Small(1), strategy, 2);
    MemoryRow many = two;
    ASSERT_OK(MeasureMemory(Small(1), /*threads=*/2, /*steps=*/2, &two));
    ASSERT_OK(MeasureMemory(Small(1), /*threads=*/2, /*steps=*/202, &many));
    EXPECT_LE(*many.resident_bytes, *two.resident_bytes + kBound)
        << Name(strategy);
  }
}

TEST(MemoryReportTest, AChildThatFailsIsAnErrorThatSaysWhy) {
  MemoryRow row = Plan(Small(2), Strategy::kFused, 4);
  row.batch = 0;
  EXPECT_THAT(MeasureMemory(Small(2), 1, 1, &row),
              testing::Fails(StatusCode::kInvalidArgument, {"fused"}));
  EXPECT_FALSE(row.measured_bytes.has_value());
}

// The claim of the project: features-only grows with the feature maps, naive
// with the square of the depth.
TEST(MemoryReportTest, FeaturesOnlyIsLinearInDepthAndNaiveIsNot) {
  auto activation_bytes = [](Strategy strategy, int64_t depth) {
    const auto model = CifarConfig(depth, 12, /*bottleneck=*/true, 0.5);
    return static_cast<double>(Plan(*model, strategy, 8).activation_bytes);
  };
  // Bytes a layer from depth 502 to 1000, against those from 250 to 502.
  auto ratio = [&](Strategy strategy) {
    const double middle = activation_bytes(strategy, 502);
    return (activation_bytes(strategy, 1000) - middle) / (1000 - 502) /
           ((middle - activation_bytes(strategy, 250)) / (502 - 250));
  };
  constexpr double kEqual = 0.02;
  EXPECT_NEAR(ratio(Strategy::kFeaturesOnly), 1, kEqual);
  EXPECT_NEAR(ratio(Strategy::kFused), 1, kEqual);
  EXPECT_GT(ratio(Strategy::kNaive), 1.5);
}

TEST(MemoryReportTest, LargestBatchFitsAndTheNextDoesNot) {
  const auto ctx = testing::MakeContext(1);
  const ModelConfig model = Small(3);
  constexpr int64_t kMost = 1'000'000;
  constexpr int64_t kBudget = int64_t{8} << 20;
  for (Strategy strategy : AllStrategies()) {
    auto batch = LargestBatch(*ctx, model, strategy, kMost, kBudget);
    ASSERT_OK(batch);
    ASSERT_GT(*batch, 0);
    EXPECT_LE(PlanMemory(*ctx, model, strategy, *batch)->planned_bytes,
              kBudget);
    EXPECT_GT(PlanMemory(*ctx, model, strategy, *batch + 1)->planned_bytes,
              kBudget);
  }
  EXPECT_EQ(*LargestBatch(*ctx, model, Strategy::kFused, kMost, 1000), 0);
}

TEST(MemoryReportTest, SearchesEndAtTheMostThatIsAllowed) {
  const auto ctx = testing::MakeContext(1);
  constexpr int64_t kBudget = int64_t{1} << 40;
  for (int64_t most : {1, 2, 3, 7, 8}) {
    EXPECT_EQ(*LargestBatch(*ctx, Small(1), Strategy::kNaive, most, kBudget),
              most);
    EXPECT_EQ(*LargestIndex(*ctx, Small, Strategy::kNaive, 2, most, kBudget),
              most);
  }
}

TEST(MemoryReportTest, LargestDepthFitsAndTheNextDoesNot) {
  const auto ctx = testing::MakeContext(1);
  constexpr int64_t kBudget = int64_t{16} << 20;
  auto layers = LargestIndex(*ctx, Small, Strategy::kFeaturesOnly, 8,
                             /*most=*/1000, kBudget);
  ASSERT_OK(layers);
  ASSERT_GT(*layers, 0);
  EXPECT_LE(Plan(Small(*layers), Strategy::kFeaturesOnly, 8).planned_bytes,
            kBudget + (int64_t{1} << 20));
  EXPECT_GT(Plan(Small(*layers + 1), Strategy::kFeaturesOnly, 8).planned_bytes,
            kBudget);
}

}  // namespace
}  // namespace densenet
