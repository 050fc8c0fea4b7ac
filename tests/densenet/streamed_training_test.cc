// Training on images in files: what its results depend on, where it ends, and
// what becomes of images that cannot be read.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "densenet/cli/app.h"
#include "densenet/data/class_folder.h"
#include "densenet/data/tf_example.h"
#include "densenet/run_folder.h"
#include "tests/densenet/photo_folder.h"
#include "tests/densenet/training_fixture.h"
#include "tests/support/gzip.h"
#include "tests/support/record_files.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::testing::HasSubstr;

class StreamedTrainingTest : public testing::TrainingFixture {
 protected:
  StreamedTrainingTest() { testing::WritePhotoFolder(data_); }

  RunOptions Tiny(const std::string& name) {
    return testing::TinyPhotoRun(data_, runs_.File(name));
  }
};

TEST_F(StreamedTrainingTest, PlannedPeakIsMeasured) {
  const StatusOr<TrainResult> result = Run(Tiny("a"));
  ASSERT_OK(result);
  EXPECT_EQ(result->steps, 6);  // 20 images in batches of 8, twice
  EXPECT_EQ(result->planned_peak_bytes, result->measured_peak_bytes);
  ASSERT_TRUE(result->test);
  EXPECT_FALSE(result->test->top5_error_percent);  // of two classes
}

TEST_F(StreamedTrainingTest, WorkersAndPrefetchChangeNothing) {
  const StatusOr<TrainResult> first = Run(Tiny("a"));
  ASSERT_OK(first);
  int number = 0;
  for (int64_t prefetch : {0, 1, 3}) {
    for (int workers : {1, 3}) {
      RunOptions options = Tiny(fmt::format("b{}", number++));
      options.prefetch = prefetch;
      options.workers = workers;
      const StatusOr<TrainResult> result = Run(options);
      ASSERT_OK(result);
      EXPECT_EQ(result->planned_peak_bytes, result->measured_peak_bytes);
      EXPECT_EQ(Tensors(result->checkpoint), Tensors(first->checkpoint));
      EXPECT_EQ(result->test, first->test);
    }
  }
}

TEST_F(StreamedTrainingTest, KilledRunsEndWhereOthersDo) {
  const StatusOr<TrainResult> whole = Run(Tiny("whole"));
  ASSERT_OK(whole);
  RunOptions options = Tiny("killed");
  options.checkpoint_every = 1;
  TrainHooks hooks;
  hooks.after_step = [](const TrainingProgress& progress) {
    return progress.global_step == 5 ? Unavailable("killed") : OkStatus();
  };
  EXPECT_THAT(Run(options, hooks), Fails(StatusCode::kUnavailable, {}));
  options.workers = 1;
  const StatusOr<TrainResult> resumed = Run(options);
  ASSERT_OK(resumed);
  EXPECT_THAT(out_.str(), HasSubstr("resuming at step 4"));
  EXPECT_EQ(Tensors(resumed->checkpoint), Tensors(whole->checkpoint));
}

TEST_F(StreamedTrainingTest, OtherFilesAreAnotherRun) {
  RunOptions options = Tiny("a");
  options.max_steps = 2;
  ASSERT_OK(Run(options));
  testing::WritePhotos(data_, "train", "bees", 1, 999);  // over the first
  EXPECT_THAT(Run(options), Fails(StatusCode::kFailedPrecondition,
                                  {"trained on other images", "files"}));
}

TEST_F(StreamedTrainingTest, LastBatchIsKeptDroppedOrPadded) {
  for (const auto& [how, steps, examples] :
       {std::tuple<std::string, int64_t, int64_t>{"keep", 3, 20},
        {"drop", 2, 16},
        {"pad", 3, 24}}) {
    RunOptions options = Tiny(how);
    options.last_batch = how;
    options.epochs = 1;
    int64_t seen = 0;
    TrainHooks hooks;
    hooks.after_step = [&](const TrainingProgress& progress) {
      seen = progress.total_examples;
      return OkStatus();
    };
    const StatusOr<TrainResult> result = Run(options, hooks);
    ASSERT_OK(result);
    EXPECT_EQ(result->steps, steps);
    EXPECT_EQ(seen, examples);
    EXPECT_EQ(result->planned_peak_bytes, result->measured_peak_bytes);
  }
  RunOptions options = Tiny("none");
  options.last_batch = "drop";
  options.batch = "21";
  EXPECT_THAT(Run(options),
              Fails(StatusCode::kInvalidArgument, {"--last-batch drop"}));
}

// Passes over the images go on across epochs of another length.
TEST_F(StreamedTrainingTest, StepsPerEpoch) {
  RunOptions passes = Tiny("passes");
  passes.schedule = "constant";
  const StatusOr<TrainResult> two_passes = Run(passes);
  ASSERT_OK(two_passes);
  RunOptions options = Tiny("epochs");
  options.schedule = "constant";
  options.steps_per_epoch = 2;
  options.epochs = 3;
  const StatusOr<TrainResult> result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->steps, 6);
  EXPECT_EQ(result->epochs, 3);
  const std::vector<EpochMetrics> rows = Metrics("epochs");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].step, 4);
  // The same steps: the same network, whatever was counted on the way.
  EXPECT_EQ(result->test, two_passes->test);
}

TEST_F(StreamedTrainingTest, MaxStepsEndsInTheMiddleOfAnEpoch) {
  RunOptions options = Tiny("cut");
  options.schedule = "constant";
  options.max_steps = 4;
  StatusOr<TrainResult> result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->steps, 4);
  EXPECT_EQ(result->epochs, 1);
  EXPECT_TRUE(result->test);
  ASSERT_EQ(Metrics("cut").size(), 2u);
  EXPECT_EQ(Metrics("cut")[1].step, 4);
  // Again: evaluated again, nothing else.
  const StatusOr<TrainResult> again = Run(options);
  ASSERT_OK(again);
  EXPECT_THAT(out_.str(), HasSubstr("More --max-steps would continue it"));
  EXPECT_EQ(again->steps, 4);
  EXPECT_EQ(again->test, result->test);
  EXPECT_EQ(Metrics("cut").size(), 2u);
  // Further: as if it had never been cut.
  options.max_steps = std::nullopt;
  result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->steps, 6);
  ASSERT_EQ(Metrics("cut").size(), 2u);
  EXPECT_EQ(Metrics("cut")[1].step, 6);
  RunOptions whole = Tiny("whole");
  whole.schedule = "constant";
  const StatusOr<TrainResult> uncut = Run(whole);
  ASSERT_OK(uncut);
  EXPECT_EQ(Metrics("cut")[1].train, Metrics("whole")[1].train);
  EXPECT_EQ(result->test, uncut->test);
  options.max_steps = 5;
  EXPECT_THAT(Run(options), Fails(StatusCode::kFailedPrecondition,
                                  {"done 6 steps", "--max-steps 5"}));
}

TEST_F(StreamedTrainingTest, MaxStepsAtTheEndOfAnEpoch) {
  RunOptions options = Tiny("run");
  options.max_steps = 3;
  StatusOr<TrainResult> result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->epochs, 1);
  result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->steps, 3);
  EXPECT_EQ(Metrics("run").size(), 1u);
}

TEST_F(StreamedTrainingTest, ABadImageStopsTheRun) {
  data_.Write("train/bees/001.jpg", "no image");
  EXPECT_THAT(Run(Tiny("a")), Fails(StatusCode::kInvalidArgument,
                                    {"train/bees/001.jpg", "unknown format"}));
}

TEST_F(StreamedTrainingTest, OthersStandInForBadImages) {
  data_.Write("train/bees/001.jpg", "no image");
  const std::string cut = data_.File("train/ants/000.jpg");
  data_.Write("train/ants/000.jpg", Slurp(cut).substr(0, 300));
  data_.Write("val/bees/000.jpg", "");
  RunOptions options = Tiny("a");
  options.on_bad_data = "skip";
  const StatusOr<TrainResult> result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->steps, 6);
  const std::vector<EpochMetrics> rows = Metrics("a");
  ASSERT_EQ(rows.size(), 2u);
  for (const EpochMetrics& row : rows) EXPECT_EQ(row.skipped, 2);
  EXPECT_THAT(out_.str(), HasSubstr("train/bees/001.jpg"));
  EXPECT_THAT(out_.str(), HasSubstr("ants/000.jpg: damaged JPEG"));
  EXPECT_THAT(out_.str(),
              HasSubstr("epoch 2: 2 training images could not be read"));
  EXPECT_THAT(out_.str(), HasSubstr("1 test images could not be read and are "
                                    "left out of the 6 evaluated"));
  // By whom and how far ahead they are found does not matter.
  RunOptions other = Tiny("b");
  other.on_bad_data = "skip";
  other.workers = 1;
  other.prefetch = 0;
  const StatusOr<TrainResult> alone = Run(other);
  ASSERT_OK(alone);
  EXPECT_EQ(Tensors(alone->checkpoint), Tensors(result->checkpoint));
  // Past the limit it stops.
  RunOptions strict = Tiny("c");
  strict.on_bad_data = "skip";
  strict.max_bad = 1;
  EXPECT_THAT(Run(strict), Fails(StatusCode::kDataLoss,
                                 {"epoch 1: 2 images", "--max-bad allows 1"}));
}

TEST_F(StreamedTrainingTest, NothingButBadImages) {
  for (int i = 0; i < 12; ++i) {
    data_.Write(fmt::format("train/ants/{:03}.jpg", i), "bad");
    if (i < 8) data_.Write(fmt::format("train/bees/{:03}.jpg", i), "bad");
  }
  RunOptions options = Tiny("a");
  options.on_bad_data = "skip";
  EXPECT_THAT(Run(options),
              Fails(StatusCode::kDataLoss, {"are all bad", "unknown format"}));
}

// Evaluated later, by another command: the same images in the same way.
TEST_F(StreamedTrainingTest, EvalRepeatsTheRunsOwnResult) {
  const StatusOr<TrainResult> result = Run(Tiny("a"));
  ASSERT_OK(result);
  std::ostringstream out, err;
  cli::Environment env{out, err, false, {}};
  const std::string json = runs_.File("eval.json");
  const std::vector<std::string> arguments = {
      "eval", "--checkpoint", result->checkpoint, "--json", json};
  ASSERT_EQ(cli::RunApp(arguments, env), 0) << err.str();
  const Json read = Json::parse(Slurp(json));
  EXPECT_EQ(read["error_percent"].get<double>(), result->test->error_percent);
  EXPECT_NEAR(read["loss"].get<double>(), result->test->loss,
              1e-5 * result->test->loss);
  EXPECT_EQ(read["examples"], 7);
}

TEST_F(StreamedTrainingTest, ClassWeightsAndSmoothingAreOfTheRun) {
  RunOptions options = Tiny("a");
  options.epochs = 1;
  options.class_weights = "balanced";
  options.label_smoothing = 0.1;
  const StatusOr<TrainResult> result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->planned_peak_bytes, result->measured_peak_bytes);
  const Json config = Json::parse(Slurp(runs_.File("a/config.json")));
  EXPECT_EQ(config["class-weights"], "balanced");
  options.label_smoothing = 0.2;
  EXPECT_THAT(Run(options), Fails(StatusCode::kFailedPrecondition,
                                  {"label-smoothing: 0.1", "0.2 now"}));
}

// The same images as records, in the same order, are the same run.
TEST_F(StreamedTrainingTest, RecordsTrainAsTheirFilesDo) {
  const StatusOr<TrainResult> files = Run(Tiny("files"));
  ASSERT_OK(files);
  TempDir records;
  for (const auto& [split, name] :
       {std::pair<Split, std::string>{Split::kTrain, "train"},
        {Split::kTest, "validation"}}) {
    const auto folder = ClassFolder::Open(data_.path(), split);
    ASSERT_OK(folder);
    std::vector<char> scratch(
        static_cast<size_t>((*folder)->max_encoded_bytes()));
    std::vector<std::string> all;
    for (int64_t i = 0; i < (*folder)->count(); ++i) {
      const StatusOr<Example> example =
          (*folder)->Read(i, absl::MakeSpan(scratch));
      ASSERT_OK(example);
      all.push_back(SerializeImageExample({.encoded = example->encoded,
                                           .format = "jpeg",
                                           .label = example->label,
                                           .class_name = "",
                                           .filename = ""}));
    }
    const std::string plain = testing::TfRecordFile(all);
    // Packed or not does not matter.
    records.Write(name + "-00000-of-00001.tfrecord" +
                      (split == Split::kTest ? ".gz" : ""),
                  split == Split::kTest ? testing::Gzip(plain) : plain);
  }
  records.Write("labels.txt", "ants\nbees\n");
  RunOptions options = Tiny("records");
  options.dataset = "records";
  options.data = records.path();
  const StatusOr<TrainResult> result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->planned_peak_bytes, result->measured_peak_bytes);
  EXPECT_EQ(Tensors(result->checkpoint), Tensors(files->checkpoint));
  EXPECT_EQ(result->test, files->test);
}

}  // namespace
}  // namespace densenet
