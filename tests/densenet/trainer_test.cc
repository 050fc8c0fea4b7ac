#include "densenet/trainer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "densenet/checkpoint_folder.h"
#include "densenet/run_folder.h"
#include "densenet/training_run.h"
#include "memory/host_memory.h"
#include "tests/densenet/data/test_dataset.h"
#include "tests/densenet/test_cifar.h"
#include "tests/densenet/training_fixture.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::testing::AnyOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kSteps = 18;  // 3 epochs of 45 images in batches of 8

class TrainerTest : public testing::TrainingFixture {
 protected:
  TrainerTest() { testing::WriteCifar10(data_, /*per_batch=*/9, /*test=*/12); }

  RunOptions Tiny(const std::string& name = "run") {
    return testing::TinyRun(data_, runs_.File(name));
  }
  void ExpectSameEnd(const std::string& a, const std::string& b) {
    const std::string file = fmt::format("/model.ckpt-{}.safetensors", kSteps);
    EXPECT_THAT(Differing(runs_.File(a + file), runs_.File(b + file)),
                ::testing::IsEmpty());
    const std::vector<EpochMetrics> left = Metrics(a);
    const std::vector<EpochMetrics> right = Metrics(b);
    ASSERT_EQ(left.size(), right.size());
    for (size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(left[i].epoch, right[i].epoch);
      EXPECT_EQ(left[i].step, right[i].step);
      EXPECT_EQ(left[i].learning_rate, right[i].learning_rate);
      EXPECT_EQ(left[i].train, right[i].train);
      EXPECT_EQ(left[i].test, right[i].test);
    }
  }
};

TEST_F(TrainerTest, LeavesARunFolder) {
  StatusOr<TrainResult> result = Run(Tiny());
  ASSERT_OK(result);
  EXPECT_EQ(result->steps, kSteps);
  EXPECT_EQ(result->epochs, 3);
  EXPECT_FALSE(result->stopped);
  ASSERT_TRUE(result->test.has_value());
  EXPECT_EQ(result->planned_peak_bytes, result->measured_peak_bytes);
  EXPECT_GT(result->images_per_second, 0);
  EXPECT_EQ(result->checkpoint, runs_.File("run/model.ckpt-18.safetensors"));
  EXPECT_TRUE(fs::exists(result->checkpoint));
  EXPECT_TRUE(fs::exists(runs_.File("run/log.txt")));
  EXPECT_EQ(CheckpointFolder(runs_.File("run"), 3).List().size(), 3u);
  EXPECT_EQ(CheckpointFolder(runs_.File("run"), 3)
                .OpenBest()
                ->info()
                .progress.best_error,
            result->best_error);
  const std::vector<EpochMetrics> rows = Metrics("run");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].step, kSteps);
  EXPECT_EQ(rows[0].learning_rate, 0.1);
  // Divided at half and three quarters of 18 steps: from steps 9 and 14 on.
  EXPECT_NEAR(rows[1].learning_rate, 0.01, 1e-9);
  EXPECT_NEAR(rows[2].learning_rate, 0.001, 1e-9);
  EXPECT_EQ(rows[2].test->error_percent, result->test->error_percent);
}

TEST_F(TrainerTest, PlannedPeakIsMeasuredUnderEveryStrategy) {
  for (Strategy strategy : AllStrategies()) {
    RunOptions options = Tiny(std::string(Name(strategy)));
    options.strategy = std::string(Name(strategy));
    options.epochs = 1;
    options.validation = 10;
    StatusOr<TrainResult> result = Run(options);
    ASSERT_OK(result);
    EXPECT_EQ(result->planned_peak_bytes, result->measured_peak_bytes)
        << Name(strategy);
  }
}

TEST_F(TrainerTest, KilledAnywhereEndsWhereTheUninterruptedRunDoes) {
  ASSERT_OK(Run(Tiny("whole")));
  // Before the first checkpoint, between two, at the end of an epoch, on its
  // first step, on the last step of all.
  for (int64_t step : {1, 3, 6, 7, 12, 17, 18}) {
    const std::string name = fmt::format("killed-{}", step);
    RunUntilKilled(Tiny(name), step);
    ASSERT_OK(Run(Tiny(name)));
    SCOPED_TRACE(name);
    ExpectSameEnd("whole", name);
  }
  // Many times.
  for (int64_t step = 2; step < kSteps; step += 3) {
    RunUntilKilled(Tiny("often"), step);
  }
  ASSERT_OK(Run(Tiny("often")));
  ExpectSameEnd("whole", "often");
}

TEST_F(TrainerTest, StoppedAnywhereSavesAndGoesOn) {
  ASSERT_OK(Run(Tiny("whole")));
  // The calls of should_stop: after each step, after each of 2 batches of an
  // evaluation. Stops at a step, at an epoch's last, in evaluations.
  for (int stop_at : {1, 6, 7, 8, 9, 16}) {
    const std::string name = fmt::format("stopped-{}", stop_at);
    int calls = 0;
    TrainHooks hooks;
    hooks.should_stop = [&] { return ++calls >= stop_at; };
    StatusOr<TrainResult> stopped = Run(Tiny(name), hooks);
    ASSERT_OK(stopped);
    EXPECT_TRUE(stopped->stopped);
    EXPECT_TRUE(fs::exists(stopped->checkpoint));
    ASSERT_OK(Run(Tiny(name)));
    EXPECT_THAT(out_.str(),
                HasSubstr(fmt::format("resuming at step {}", stopped->steps)));
    SCOPED_TRACE(name);
    ExpectSameEnd("whole", name);
  }
}

TEST_F(TrainerTest, ThreadsAndStrategiesOfAFamilyEndAlike) {
  ASSERT_OK(Run(Tiny("one")));
  RunOptions options = Tiny("two");
  options.threads = 2;
  ASSERT_OK(Run(options));
  ExpectSameEnd("one", "two");
  for (const char* strategy : {"naive", "shared-concat"}) {
    options = Tiny(strategy);
    options.strategy = strategy;
    ASSERT_OK(Run(options));
    ExpectSameEnd("one", strategy);
  }
  options = Tiny("fused");
  options.strategy = "fused";
  ASSERT_OK(Run(options));
  options = Tiny("features-only");
  options.strategy = "features-only";
  ASSERT_OK(Run(options));
  ExpectSameEnd("fused", "features-only");
  // Under another strategy and number of threads in mid-run.
  RunUntilKilled(Tiny("mixed"), 8);
  options = Tiny("mixed");
  options.strategy = "naive";
  options.threads = 2;
  ASSERT_OK(Run(options));
  ExpectSameEnd("one", "mixed");
}

TEST_F(TrainerTest, DamagedNewestCheckpointIsReportedAndPassedOver) {
  ASSERT_OK(Run(Tiny("whole")));
  RunUntilKilled(Tiny(), 11);
  const std::string newest = runs_.File("run/model.ckpt-10.safetensors");
  ASSERT_TRUE(fs::exists(newest));
  fs::resize_file(newest, 1000);
  ASSERT_OK(Run(Tiny()));
  EXPECT_THAT(out_.str(), HasSubstr("warning: safetensors file " + newest));
  EXPECT_THAT(out_.str(), HasSubstr("resuming at step 8"));
  EXPECT_TRUE(fs::exists(newest + ".damaged"));
  ExpectSameEnd("whole", "run");
}

TEST_F(TrainerTest, NeverRestartsOverDamagedCheckpoints) {
  RunUntilKilled(Tiny(), 5);
  for (const CheckpointFile& file :
       CheckpointFolder(runs_.File("run"), 3).List()) {
    fs::resize_file(file.path, 10);
  }
  EXPECT_THAT(Run(Tiny()),
              Fails(StatusCode::kDataLoss,
                    {"none of its 2 checkpoints", "model.ckpt-4.safetensors"}));
}

TEST_F(TrainerTest, RunOfOtherOptionsIsRefusedByName) {
  RunUntilKilled(Tiny(), 3);
  RunOptions options = Tiny();
  options.growth = 8;
  options.seed = 9;
  EXPECT_THAT(Run(options), Fails(StatusCode::kFailedPrecondition,
                                  {runs_.File("run"), "growth: 4", "8 now",
                                   "seed: 1", "another --out"}));
  // config.json lost: the checkpoint knows too.
  fs::remove(runs_.File("run/config.json"));
  EXPECT_THAT(Run(options),
              Fails(StatusCode::kFailedPrecondition, {"growth: 4"}));
  ASSERT_OK(Run(Tiny()));
}

TEST_F(TrainerTest, OtherDataIsRefused) {
  RunUntilKilled(Tiny(), 3);
  testing::WriteCifar10(data_, 8, 12);
  EXPECT_THAT(Run(Tiny()),
              Fails(StatusCode::kFailedPrecondition,
                    {"trained on 45 images, the data has 40 now"}));
}

TEST_F(TrainerTest, FinishedRunIsEvaluatedAgainAndMoreEpochsContinueIt) {
  StatusOr<TrainResult> first = Run(Tiny());
  ASSERT_OK(first);
  StatusOr<TrainResult> again = Run(Tiny());
  ASSERT_OK(again);
  EXPECT_THAT(out_.str(), HasSubstr("this run is finished"));
  EXPECT_EQ(again->steps, kSteps);
  EXPECT_EQ(again->test, first->test);
  EXPECT_EQ(again->planned_peak_bytes, again->measured_peak_bytes);
  RunOptions more = Tiny();
  more.epochs = 4;
  StatusOr<TrainResult> continued = Run(more);
  ASSERT_OK(continued);
  EXPECT_THAT(out_.str(), HasSubstr("4 epochs instead of 3"));
  EXPECT_EQ(continued->steps, 24);
  EXPECT_EQ(Metrics("run").size(), 4u);
  RunOptions fewer = Tiny();
  fewer.epochs = 2;
  EXPECT_THAT(Run(fewer), Fails(StatusCode::kFailedPrecondition,
                                {"--epochs 2 cannot undo"}));
}

TEST_F(TrainerTest, ValidationImagesTakeThePlaceOfTheTestImages) {
  RunOptions options = Tiny();
  options.validation = 13;
  options.eval_every = 2;
  ASSERT_OK(Run(options));
  const std::vector<EpochMetrics> rows = Metrics("run");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_FALSE(rows[0].validation || rows[0].test);
  EXPECT_TRUE(rows[1].validation && !rows[1].test);
  EXPECT_TRUE(rows[2].validation && rows[2].test);
  EXPECT_EQ(rows[0].step, 4);  // 32 images
  options = Tiny("all");
  options.validation = 45;
  EXPECT_THAT(Run(options), Fails(StatusCode::kInvalidArgument, {"45"}));
  EXPECT_FALSE(fs::exists(runs_.File("all")));
}

TEST_F(TrainerTest, EvaluationDoesNotDisturbTraining) {
  ASSERT_OK(Run(Tiny("each")));
  RunOptions options = Tiny("rarely");
  options.eval_every = 3;
  ASSERT_OK(Run(options));
  const std::string file = "/model.ckpt-18.safetensors";
  for (const std::string& name :
       Differing(runs_.File("each" + file), runs_.File("rarely" + file))) {
    EXPECT_THAT(
        name, AnyOf(HasSubstr("counters/best"), "counters/stale_evaluations"));
  }
}

TEST_F(TrainerTest, BudgetTooSmallSaysWhatWouldFit) {
  RunOptions options = Tiny();
  options.strategy = "naive";
  options.memory_budget = "2MB";
  const StatusOr<TrainResult> result = Run(options);
  EXPECT_THAT(result,
              Fails(StatusCode::kResourceExhausted,
                    {"--memory-budget is 2000000 bytes", "--strategy naive",
                     "--strategy features-only --batch"}));
  EXPECT_FALSE(fs::exists(runs_.File("run")));
  options.strategy = "auto";
  options.memory_budget = "1GB";
  ASSERT_OK(Run(options));
  StatusOr<Json> config = ReadJsonObject(runs_.File("run/config.json"));
  ASSERT_OK(config);
  EXPECT_EQ((*config)["strategy"], "fused");
}

TEST_F(TrainerTest, BadDataLeavesNothingBehind) {
  RunOptions options = Tiny("a/b/c");
  options.data = data_.File("nothing-here");
  EXPECT_THAT(Run(options), Fails(StatusCode::kNotFound, {"nothing-here"}));
  EXPECT_FALSE(fs::exists(runs_.File("a")));
  std::string bytes = Slurp(data_.File("data_batch_2.bin"));
  bytes[0] = 77;
  data_.Write("data_batch_2.bin", bytes);
  EXPECT_THAT(Run(Tiny("d")),
              Fails(StatusCode::kDataLoss, {"data_batch_2.bin", "77"}));
  EXPECT_FALSE(fs::exists(runs_.File("d")));
}

TEST_F(TrainerTest, FolderOfARunThatWasKilledAtOnceIsUsed) {
  fs::create_directory(runs_.File("killed"));
  runs_.Write("killed/config.json.tmp-0123abcd", "{");
  EXPECT_OK(Run(Tiny("killed")));
  EXPECT_FALSE(fs::exists(runs_.File("killed/config.json.tmp-0123abcd")));
}

TEST_F(TrainerTest, FolderThatIsNoRunOrInUseIsRefused) {
  runs_.Write("file", "x");
  EXPECT_FALSE(Run(Tiny("file/run")).ok());
  fs::create_directory(runs_.File("photos"));
  runs_.Write("photos/cat.jpg", "x");
  runs_.Write("photos/cat.tmp-0123abcd", "x");
  EXPECT_THAT(Run(Tiny("photos")),
              Fails(StatusCode::kFailedPrecondition,
                    {"photos", "holds other things and no run"}));
  EXPECT_TRUE(fs::exists(runs_.File("photos/cat.tmp-0123abcd")));
  StatusOr<RunFolder> held = RunFolder::Open(runs_.File("held"));
  ASSERT_OK(held);
  EXPECT_THAT(Run(Tiny("held")),
              Fails(StatusCode::kFailedPrecondition, {"another process"}));
}

TEST_F(TrainerTest, LossThatIsNoNumberEndsTheRun) {
  RunOptions options = Tiny();
  options.learning_rate = 1e30;
  EXPECT_THAT(
      Run(options),
      Fails(StatusCode::kInternal,
            {"step ", "features.denseblock1.denselayer1.conv1 is the first",
             "--lr"}));
  for (const CheckpointFile& file :
       CheckpointFolder(runs_.File("run"), 3).List()) {
    EXPECT_OK(Checkpoint::Open(file.path));
  }
  EXPECT_THAT(Slurp(runs_.File("run/log.txt")), HasSubstr("failed: step "));
}

TEST(StepsPerEpoch, LeavesOutABatchOfASingleValue) {
  HostMemory memory;
  const Dataset set = testing::RandomDataset(9, 4, 4, 1, memory);
  ModelConfig model;
  model.block_config = {1, 1, 1};
  model.image_height = 4;
  model.image_width = 4;  // 4, 2 and 1 pixels wide in the blocks
  model.image_channels = 1;
  auto steps = [&](int64_t batch) {
    const Normalization identity{{0.0}, {1.0}};
    return StepsPerEpoch(
        model, *BatchSource::Create(&set, identity, {.batch_size = batch}));
  };
  EXPECT_EQ(*steps(4), 2);
  EXPECT_EQ(*steps(5), 2);
  EXPECT_EQ(*steps(9), 1);
  EXPECT_THAT(steps(1), Fails(StatusCode::kInvalidArgument,
                              {"block 3", "--batch 2 or more"}));
  model.block_config = {1, 1};
  EXPECT_EQ(*steps(4), 3);
  EXPECT_EQ(*steps(1), 9);
}

}  // namespace
}  // namespace densenet
