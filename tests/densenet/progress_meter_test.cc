#include "densenet/progress_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace densenet {
namespace {

using ::testing::HasSubstr;

TEST(ProgressMeter, DurationsReadWell) {
  EXPECT_EQ(DurationText(absl::Seconds(-3)), "0 s");
  EXPECT_EQ(DurationText(absl::Seconds(45.4)), "45 s");
  EXPECT_EQ(DurationText(absl::Seconds(725)), "12 min 05 s");
  EXPECT_EQ(DurationText(absl::Hours(3) + absl::Minutes(20)), "3 h 20 min");
  EXPECT_EQ(DurationText(absl::Hours(127)), "5 d 07 h");
}

class ProgressMeterTest : public ::testing::TestWithParam<bool> {
 protected:
  absl::Time now_ = absl::UnixEpoch();
};

// 2 epochs of 4 steps of 50 images, 5 seconds each.
TEST_P(ProgressMeterTest, TellsRateAndTimeLeft) {
  std::ostringstream out;
  Console console(out, GetParam());
  ProgressMeter meter(console, {.epochs = 2,
                                .steps_per_epoch = 4,
                                .line_interval = absl::Seconds(9),
                                .now = [this] { return now_; }});
  TrainingProgress progress;
  for (int i = 1; i <= 2; ++i) {
    now_ += absl::Seconds(5);
    progress.batch = i;
    progress.examples = 50 * i;
    progress.correct = 25 * i;
    progress.loss_sum = 100 * i;
    meter.Step(progress, 50, 5.0);
  }
  EXPECT_THAT(out.str(), HasSubstr("50%  loss 2.0000  error 50.00%  10 "
                                   "images/s  30 s left"));
  // A line only after its interval; a bar each time, over the last one.
  EXPECT_EQ(out.str().find("25%") != std::string::npos, GetParam());
  EXPECT_EQ(out.str().find("\r\033[K") != std::string::npos, GetParam());
  EXPECT_EQ(out.str().find('\n') == std::string::npos, GetParam());
}

INSTANTIATE_TEST_SUITE_P(LinesAndBar, ProgressMeterTest, ::testing::Bool());

}  // namespace
}  // namespace densenet
