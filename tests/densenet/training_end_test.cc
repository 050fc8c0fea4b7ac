// When a run begins and ends: --initial-epoch, --patience, --max-time; and
// which checkpoints it leaves.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "densenet/checkpoint_folder.h"
#include "tests/densenet/test_cifar.h"
#include "tests/densenet/training_fixture.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kEpochSteps = 6;  // 45 images in batches of 8

class TrainingEndTest : public testing::TrainingFixture {
 protected:
  TrainingEndTest() {
    testing::WriteCifar10(data_, /*per_batch=*/9, /*test=*/12);
  }

  RunOptions Tiny(const std::string& name = "run") {
    return testing::TinyRun(data_, runs_.File(name));
  }
  std::string CheckpointOf(const std::string& run, int64_t epoch) {
    return runs_.File(
        fmt::format("{}/model.ckpt-{}.safetensors", run, epoch * kEpochSteps));
  }
  std::vector<int64_t> CheckpointSteps(const std::string& run) {
    std::vector<int64_t> steps;
    for (const CheckpointFile& file :
         CheckpointFolder(runs_.File(run), 1).List()) {
      steps.push_back(file.step);
    }
    return steps;
  }
};

TEST_F(TrainingEndTest, PatienceEndsTheRunAtTheEvaluationThatUsesItUp) {
  RunOptions options = Tiny("whole");
  options.epochs = 12;
  options.learning_rate = 1e-6;  // so that nothing gets better for long
  ASSERT_OK(Run(options));
  const std::vector<EpochMetrics> whole = Metrics("whole");
  double best = std::numeric_limits<double>::infinity();
  int64_t stale = 0;
  int64_t expected = 0;
  for (const EpochMetrics& row : whole) {
    ++expected;
    stale = row.test->error_percent < best ? 0 : stale + 1;
    best = std::min(best, row.test->error_percent);
    if (stale == 2) break;
  }
  ASSERT_LT(expected, 12);

  options.out = runs_.File("short");
  options.patience = 2;
  const StatusOr<TrainResult> result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->epochs, expected);
  EXPECT_FALSE(result->stopped);
  ASSERT_TRUE(result->test.has_value());
  EXPECT_THAT(out_.str(), HasSubstr("no lower error in 2 evaluations"));
  EXPECT_THAT(out_.str(), HasSubstr("--patience without --validation"));
  EXPECT_EQ(Metrics("short").size(), static_cast<size_t>(expected));

  // Finished; more of it goes on as if it had always been so.
  ASSERT_OK(Run(options));
  EXPECT_THAT(out_.str(), HasSubstr("More --patience would continue"));
  options.patience = 20;
  const StatusOr<TrainResult> more = Run(options);
  ASSERT_OK(more);
  EXPECT_EQ(more->epochs, 12);
  EXPECT_THAT(Differing(CheckpointOf("whole", 12), CheckpointOf("short", 12)),
              IsEmpty());
}

TEST_F(TrainingEndTest, PatienceIsCountedAcrossKills) {
  RunOptions options = Tiny("whole");
  options.epochs = 12;
  options.learning_rate = 1e-6;
  options.patience = 3;
  options.validation = 10;
  const StatusOr<TrainResult> whole = Run(options);
  ASSERT_OK(whole);
  ASSERT_LT(whole->epochs, 12);
  EXPECT_THAT(out_.str(), Not(HasSubstr("without --validation")));
  const std::vector<EpochMetrics> rows = Metrics("whole");
  EXPECT_TRUE(rows.back().test.has_value());
  EXPECT_FALSE(rows.front().test.has_value());
  options.out = runs_.File("killed");
  for (int64_t step = 3; step < whole->steps; step += 4) {
    RunUntilKilled(options, step);
  }
  const StatusOr<TrainResult> killed = Run(options);
  ASSERT_OK(killed);
  EXPECT_EQ(killed->steps, whole->steps);
  EXPECT_THAT(Differing(whole->checkpoint, killed->checkpoint), IsEmpty());
}

TEST_F(TrainingEndTest, TimeThatIsUpSavesAndTheRunGoesOn) {
  ASSERT_OK(Run(Tiny("whole")));
  RunOptions options = Tiny("timed");
  options.max_time = "1ns";
  for (int64_t step = 1; step <= 4; ++step) {
    const StatusOr<TrainResult> result = Run(options);
    ASSERT_OK(result);
    EXPECT_TRUE(result->stopped);
    EXPECT_EQ(result->steps, step);
    EXPECT_THAT(out_.str(), HasSubstr("time is up (--max-time 1ns)"));
  }
  options.max_time = "1h30m";
  const StatusOr<TrainResult> result = Run(options);
  ASSERT_OK(result);
  EXPECT_FALSE(result->stopped);
  EXPECT_THAT(Differing(CheckpointOf("whole", 3), CheckpointOf("timed", 3)),
              IsEmpty());
}

TEST_F(TrainingEndTest, InitialEpochCountsAsDone) {
  RunOptions options = Tiny();
  options.initial_epoch = 2;
  options.schedule = "step";
  options.milestones = {{0.5, 0.9}};
  const StatusOr<TrainResult> result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->steps, 3 * kEpochSteps);
  const std::vector<EpochMetrics> rows = Metrics("run");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].epoch, 3);
  EXPECT_FLOAT_EQ(static_cast<float>(rows[0].learning_rate), 0.001f);
  options.initial_epoch = 1;
  EXPECT_THAT(Run(options),
              Fails(StatusCode::kFailedPrecondition,
                    {"initial-epoch: 2 in the run folder, 1 now"}));
  options.initial_epoch = 3;
  EXPECT_THAT(Run(options), Fails(StatusCode::kInvalidArgument,
                                  {"--initial-epoch 3: expected 0 to 2"}));
}

TEST_F(TrainingEndTest, EveryNthEpochIsKeptBesidesTheNewest) {
  RunOptions options = Tiny();
  options.epochs = 5;
  options.keep = 1;
  options.keep_every = 2;
  ASSERT_OK(Run(options));
  EXPECT_THAT(CheckpointSteps("run"),
              ElementsAre(2 * kEpochSteps, 4 * kEpochSteps, 5 * kEpochSteps));
}

}  // namespace
}  // namespace densenet
