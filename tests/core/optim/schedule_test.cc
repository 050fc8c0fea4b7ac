#include "core/optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace densenet {
namespace {

using ::testing::HasSubstr;

TEST(LearningRateScheduleTest, StepDividesAtHalfAndThreeQuarters) {
  StatusOr<LearningRateSchedule> schedule =
      LearningRateSchedule::Create({.name = "step"});
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(schedule->AtStep(0, 300), 0.1f);
  EXPECT_EQ(schedule->AtStep(149, 300), 0.1f);
  EXPECT_EQ(schedule->AtStep(150, 300), 0.01f);
  EXPECT_EQ(schedule->AtStep(224, 300), 0.01f);
  EXPECT_EQ(schedule->AtStep(225, 300), 0.001f);
  EXPECT_EQ(schedule->AtStep(299, 300), 0.001f);
  EXPECT_EQ(schedule->At(0.4999), 0.1f);
  EXPECT_EQ(schedule->At(0.5), 0.01f);
}

TEST(LearningRateScheduleTest, DecimalMilestonesAreReachedOnTheirStep) {
  StatusOr<LearningRateSchedule> schedule = LearningRateSchedule::Create(
      {.name = "step", .learning_rate = 1.0, .milestones = {0.1, 0.6, 0.7}});
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(schedule->AtStep(0, 10), 1.0f);
  EXPECT_EQ(schedule->AtStep(1, 10), 0.1f);
  EXPECT_EQ(schedule->AtStep(5, 10), 0.1f);
  EXPECT_EQ(schedule->AtStep(6, 10), 0.01f);
  EXPECT_EQ(schedule->AtStep(7, 10), 0.001f);
}

TEST(LearningRateScheduleTest, ConstantStaysWhateverTheMilestones) {
  StatusOr<LearningRateSchedule> schedule =
      LearningRateSchedule::Create({.name = "constant", .learning_rate = 0.05});
  ASSERT_TRUE(schedule.ok());
  for (double progress : {0.0, 0.5, 1.0}) {
    EXPECT_EQ(schedule->At(progress), 0.05f);
  }
}

TEST(LearningRateScheduleTest, ErrorsSayWhatIsExpected) {
  auto message = [](const ScheduleConfig& config) {
    StatusOr<LearningRateSchedule> schedule =
        LearningRateSchedule::Create(config);
    EXPECT_EQ(schedule.status().code(), StatusCode::kInvalidArgument);
    return std::string(StdView(schedule.status().message()));
  };
  EXPECT_THAT(message({.name = "stairs"}),
              HasSubstr("unknown schedule 'stairs': expected constant, step"));
  EXPECT_THAT(message({.learning_rate = 0.0}), HasSubstr("learning_rate is 0"));
  EXPECT_THAT(message({.divide_by = 0.5}), HasSubstr("divide_by is 0.5"));
  EXPECT_THAT(message({.milestones = {0.75, 0.5}}),
              HasSubstr("milestones are 0.75, 0.5, expected increasing"));
  EXPECT_THAT(message({.milestones = {1.0}}), HasSubstr("between 0 and 1"));
}

}  // namespace
}  // namespace densenet
