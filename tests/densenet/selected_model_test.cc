#include "densenet/selected_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/io/file.h"
#include "densenet/checkpoint_folder.h"
#include "densenet/run_outcome.h"
#include "tests/densenet/test_cifar.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

class SelectedModelTest : public ::testing::Test {
 protected:
  SelectedModelTest() {
    testing::WriteCifar10(data_, /*per_batch=*/9, /*test=*/12);
    RunOptions options = testing::TinyRun(data_, runs_.File("run"));
    options.validation = 10;
    options.keep = 20;  // all
    StatusOr<RunConfig> config = ResolveRunConfig(options);
    EXPECT_OK(config);
    config_ = *config;
    StatusOr<std::optional<RunOutcome>> outcome =
        FinishRun(config_, TrainHooks(), console_);
    EXPECT_OK(outcome);
    outcome_ = **outcome;
  }

  testing::TempDir data_;
  testing::TempDir runs_;
  std::ostringstream out_;
  Console console_{out_, /*terminal=*/false};
  RunConfig config_;
  RunOutcome outcome_;
};

TEST_F(SelectedModelTest, ItIsTheCheckpointOfTheLowestValidationError) {
  // Make the last epoch's the best, whose test error the run measured.
  const CheckpointFolder checkpoints(config_.out, config_.keep);
  ASSERT_OK(checkpoints.MarkBest(outcome_.epochs.back().step));
  StatusOr<std::optional<Score>> score =
      TestSelectedModel(config_, nullptr, console_);
  ASSERT_OK(score);
  ASSERT_TRUE(score->has_value());
  EXPECT_EQ((*score)->error_percent, outcome_.final_test().error_percent);
  EXPECT_EQ((*score)->loss, outcome_.final_test().loss);
  // Another best is measured anew.
  ASSERT_OK(checkpoints.MarkBest(outcome_.epochs.front().step));
  StatusOr<std::optional<Score>> first =
      TestSelectedModel(config_, nullptr, console_);
  ASSERT_OK(first);
  EXPECT_NE((*first)->loss, (*score)->loss);
}

TEST_F(SelectedModelTest, IsMeasuredOnce) {
  int asked = 0;
  const auto count = [&] { return ++asked == -1; };
  StatusOr<std::optional<Score>> score =
      TestSelectedModel(config_, count, console_);
  ASSERT_OK(score);
  EXPECT_GT(asked, 0);
  asked = 0;
  StatusOr<std::optional<Score>> again =
      TestSelectedModel(config_, count, console_);
  ASSERT_OK(again);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(**again, **score);
}

TEST_F(SelectedModelTest, StoppedItIsNothing) {
  StatusOr<std::optional<Score>> score = TestSelectedModel(
      config_, [] { return true; }, console_);
  ASSERT_OK(score);
  EXPECT_FALSE(score->has_value());
}

}  // namespace
}  // namespace densenet
