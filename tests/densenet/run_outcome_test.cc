#include "densenet/run_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "tests/densenet/test_cifar.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::TempDir;

class RunOutcomeTest : public ::testing::Test {
 protected:
  RunOutcomeTest() { testing::WriteCifar10(data_, /*per_batch=*/9, 12); }

  RunConfig Tiny() {
    StatusOr<RunConfig> config =
        ResolveRunConfig(testing::TinyRun(data_, runs_.File("run")));
    EXPECT_OK(config);
    return *config;
  }
  StatusOr<std::optional<RunOutcome>> Finish(const RunConfig& config) {
    Console console(out_, /*terminal=*/false);
    TrainHooks hooks;
    hooks.should_stop = [this] { return ++steps_ == stop_at_; };
    return FinishRun(config, hooks, console);
  }

  TempDir data_;
  TempDir runs_;
  std::ostringstream out_;
  int steps_ = 0;
  int stop_at_ = -1;
};

TEST_F(RunOutcomeTest, ADoneRunIsReadAndNotTrainedAgain) {
  const RunConfig config = Tiny();
  StatusOr<std::optional<RunOutcome>> none = ReadRunOutcome(config);
  ASSERT_OK(none);
  EXPECT_FALSE(none->has_value());
  StatusOr<std::optional<RunOutcome>> first = Finish(config);
  ASSERT_OK(first);
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->epochs.size(), 3u);
  EXPECT_EQ((*first)->divergence, std::nullopt);
  EXPECT_GT((*first)->training_seconds(), 0);
  steps_ = 0;
  StatusOr<std::optional<RunOutcome>> again = Finish(config);
  ASSERT_OK(again);
  EXPECT_EQ(steps_, 0);
  EXPECT_EQ((*again)->final_test(), (*first)->final_test());
}

TEST_F(RunOutcomeTest, AStoppedRunIsNoOutcomeAndGoesOn) {
  const RunConfig config = Tiny();
  stop_at_ = 9;
  StatusOr<std::optional<RunOutcome>> stopped = Finish(config);
  ASSERT_OK(stopped);
  EXPECT_FALSE(stopped->has_value());
  EXPECT_FALSE(ReadRunOutcome(config)->has_value());
  StatusOr<std::optional<RunOutcome>> done = Finish(config);
  ASSERT_OK(done);
  EXPECT_EQ((*done)->epochs.size(), 3u);
}

TEST_F(RunOutcomeTest, OneThatMaxStepsCutsShortIsDone) {
  RunConfig config = Tiny();
  config.max_steps = 8;  // in the second epoch of 6
  ASSERT_TRUE(Finish(config)->has_value());
  steps_ = 0;
  ASSERT_TRUE(Finish(config)->has_value());
  EXPECT_EQ(steps_, 0);
}

TEST_F(RunOutcomeTest, BestIsTheFirstOfTheLowest) {
  RunOutcome outcome;
  for (double error : {30.0, 10.0, 20.0, 10.0}) {
    EpochMetrics epoch;
    epoch.epoch = static_cast<int64_t>(outcome.epochs.size()) + 1;
    epoch.test = Score{.error_percent = error};
    outcome.epochs.push_back(epoch);
  }
  outcome.epochs[0].test.reset();  // not evaluated
  EXPECT_EQ(outcome.best_test().epoch, 2);
  EXPECT_EQ(outcome.final_test().error_percent, 10);
}

TEST_F(RunOutcomeTest, AnotherRunIsRefusedLengthsToo) {
  RunConfig config = Tiny();
  ASSERT_OK(Finish(config));
  EXPECT_OK(CheckHoldsRun(config));
  config.epochs = 4;
  EXPECT_THAT(Finish(config), Fails(StatusCode::kFailedPrecondition,
                                    {"epochs: 3 in the run folder, 4 now"}));
  config = Tiny();
  config.max_steps = 5;
  EXPECT_THAT(Finish(config), Fails(StatusCode::kFailedPrecondition,
                                    {"max-steps: 0 in the run folder, 5 now"}));
  config = Tiny();
  config.batch = 16;
  EXPECT_THAT(Finish(config), Fails(StatusCode::kFailedPrecondition,
                                    {"batch: 8 in the run folder, 16 now"}));
}

TEST_F(RunOutcomeTest, DivergenceIsAnOutcomeAndStays) {
  RunConfig config = Tiny();
  config.schedule.learning_rate = 1e30;
  StatusOr<std::optional<RunOutcome>> outcome = Finish(config);
  ASSERT_OK(outcome);
  ASSERT_TRUE(outcome->has_value());
  ASSERT_TRUE((*outcome)->divergence.has_value());
  EXPECT_THAT(*(*outcome)->divergence, ::testing::HasSubstr("step "));
  EXPECT_TRUE(std::filesystem::exists(runs_.File("run/diverged.json")));
  steps_ = 0;
  ASSERT_TRUE((*Finish(config))->divergence.has_value());
  EXPECT_EQ(steps_, 0);
}

}  // namespace
}  // namespace densenet
