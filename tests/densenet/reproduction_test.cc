#include "densenet/reproduction.h"

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
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PaperRowTest, AreFoundByPresetAndDataSet) {
  StatusOr<PaperRow> row = FindPaperRow("densenet-bc-100-12", "cifar10+");
  ASSERT_OK(row);
  EXPECT_EQ(row->published->error_percent, 4.51);
  EXPECT_EQ(row->dataset(), "cifar10+");
  ASSERT_OK(FindPaperRow("densenet-121", "imagenet"));
  EXPECT_EQ(FindPaperRow("densenet-40-12", "svhn")->published->error_percent,
            1.79);
  EXPECT_THAT(FindPaperRow("densenet-bc-190-40", "cifar10"),
              Fails(StatusCode::kNotFound, {"cifar10+, cifar100+"}));
  EXPECT_THAT(FindPaperRow("densenet-9", "cifar10"),
              Fails(StatusCode::kNotFound, {"densenet-9", "densenet-40-12"}));
  size_t published = 0;
  for (const Preset& preset : Presets()) published += preset.results.size();
  EXPECT_EQ(PaperRows().size(), published);
}

class ReproductionTest : public ::testing::Test {
 protected:
  ReproductionTest() { testing::WriteCifar10(data_, /*per_batch=*/2, 4); }

  // A shortened row on ten random images, of the smallest preset.
  ReproductionOptions Shortened() {
    ReproductionOptions options;
    options.preset = "densenet-40-12";
    options.dataset = "cifar10+";
    options.run.data = data_.path();
    options.run.out = runs_.path();
    options.run.threads = 1;
    options.epochs_scale = 0.01;
    return options;
  }
  Status Run(Reproduction* reproduction, int stop_at = -1) {
    out_.str("");
    steps_ = 0;
    return RunReproduction(
        {.out = out_,
         .should_stop = [this, stop_at] { return ++steps_ == stop_at; }},
        reproduction);
  }
  static RunConfig Config(const std::string& preset,
                          const std::string& dataset) {
    ReproductionOptions options;
    options.preset = preset;
    options.dataset = dataset;
    options.run.out = "runs";
    StatusOr<Reproduction> reproduction = PlanReproduction(options);
    EXPECT_OK(reproduction);
    return reproduction->configs.front();
  }

  TempDir data_;
  TempDir runs_;
  std::ostringstream out_;
  int steps_ = 0;
};

// The paper, section 4.
TEST_F(ReproductionTest, TheRecipeIsThePapers) {
  for (const char* dataset : {"cifar10", "cifar10+", "cifar100", "cifar100+"}) {
    SCOPED_TRACE(dataset);
    const RunConfig c = Config("densenet-bc-100-12", dataset);
    const bool augmented = std::string(dataset).back() == '+';
    EXPECT_EQ(c.batch, 64);
    EXPECT_EQ(c.epochs, 300);
    EXPECT_EQ(c.optimizer.name, "nesterov");
    EXPECT_EQ(c.optimizer.momentum, 0.9f);
    EXPECT_EQ(c.optimizer.weight_decay, 1e-4f);
    EXPECT_EQ(c.schedule.name, "step");
    EXPECT_EQ(c.schedule.learning_rate, 0.1);
    EXPECT_EQ(c.schedule.divide_by, 10);
    EXPECT_THAT(c.schedule.milestones, ElementsAre(0.5, 0.75));
    EXPECT_EQ(c.model.dropout, augmented ? 0 : 0.2);
    EXPECT_EQ(c.augment, augmented ? AugmentKind::kCifar : AugmentKind::kNone);
    EXPECT_EQ(c.normalize, "dataset");
    EXPECT_EQ(c.validation, 0);
    EXPECT_EQ(c.label_smoothing, 0);
    EXPECT_EQ(ParameterCount(c.model),
              c.model.classes == 10 ? 769'162 : 800'032);
  }
  const RunConfig svhn = Config("densenet-100-24", "svhn");
  EXPECT_EQ(svhn.dataset, "svhn");  // train + extra
  EXPECT_EQ(svhn.batch, 64);
  EXPECT_EQ(svhn.epochs, 40);
  EXPECT_EQ(svhn.validation, 6000);
  EXPECT_EQ(svhn.normalize, "0/1");  // pixels / 255
  EXPECT_EQ(svhn.model.dropout, 0.2);
  EXPECT_EQ(svhn.augment, AugmentKind::kNone);
  EXPECT_THAT(svhn.schedule.milestones, ElementsAre(0.5, 0.75));
}

TEST_F(ReproductionTest, OptionsOfTheRunDoNotReachTheRecipe) {
  ReproductionOptions options = Shortened();
  options.run.preset = "densenet-121";
  options.run.epochs = 7;
  options.run.augment = "none";
  StatusOr<Reproduction> reproduction = PlanReproduction(options);
  ASSERT_OK(reproduction);
  const RunConfig& config = reproduction->configs.front();
  EXPECT_EQ(config.preset, "densenet-40-12");
  EXPECT_EQ(config.epochs, 3);
  EXPECT_EQ(config.augment, AugmentKind::kCifar);
  EXPECT_EQ(config.out, runs_.File("densenet-40-12-cifar10+-x0.01-seed1"));
}

TEST_F(ReproductionTest, ARowIsTrainedStoppedAndContinued) {
  ReproductionOptions options = Shortened();
  options.seeds = 2;
  StatusOr<Reproduction> stopped = PlanReproduction(options);
  ASSERT_OK(stopped);
  ASSERT_OK(Run(&*stopped, /*stop_at=*/2));
  EXPECT_FALSE(stopped->finished);
  StatusOr<Reproduction> done = PlanReproduction(options);
  ASSERT_OK(done);
  ASSERT_OK(Run(&*done));
  EXPECT_TRUE(done->finished);
  ASSERT_EQ(done->runs.size(), 2u);
  EXPECT_EQ(done->error()->count, 2);
  EXPECT_LE(*done->runs[0].best_percent, *done->runs[0].error_percent);
  EXPECT_THAT(done->notes,
              ElementsAre(HasSubstr("not the published cifar10 files")));

  const std::string text = ReproductionText(*done);
  EXPECT_THAT(text, HasSubstr("SHORTENED, 3 of the paper's 300 epochs"));
  EXPECT_THAT(text, HasSubstr("     5.24 "));
  EXPECT_THAT(text, HasSubstr("after the last epoch, as the paper reports it"));
  EXPECT_THAT(text, HasSubstr("note: these are not the published"));
  const Json row = ReproductionJson(*done)["rows"][0];
  EXPECT_EQ(row["published"], 5.24);
  EXPECT_EQ(row["shortened"], true);
  EXPECT_EQ(row["epochs"], 3);
  EXPECT_EQ(row["paper_epochs"], 300);
  EXPECT_EQ(row["seeds"], 2);
  EXPECT_DOUBLE_EQ(row["difference"],
                   row["reproduced_mean"].get<double>() - 5.24);
  // Done, it is only read.
  StatusOr<Reproduction> again = PlanReproduction(options);
  ASSERT_OK(Run(&*again));
  EXPECT_EQ(steps_, 0);
}

TEST_F(ReproductionTest, AFullRowIsNotMarked) {
  ReproductionOptions options = Shortened();
  options.epochs_scale = 1;
  StatusOr<Reproduction> reproduction = PlanReproduction(options);
  ASSERT_OK(reproduction);
  reproduction->runs.push_back({.seed = 1,
                                .folder = "runs",
                                .divergence = std::nullopt,
                                .error_percent = 5.30,
                                .best_percent = 5.11,
                                .training_seconds = 7200});
  const std::string text = ReproductionText(*reproduction);
  EXPECT_THAT(text, HasSubstr("300 epochs, as the paper"));
  EXPECT_THAT(text, HasSubstr("     5.24             5.30      +0.06"));
  EXPECT_THAT(text, HasSubstr("2.00"));
}

TEST_F(ReproductionTest, ImpossibleOptionsAreNamed) {
  ReproductionOptions options = Shortened();
  options.epochs_scale = 0;
  EXPECT_THAT(PlanReproduction(options),
              Fails(StatusCode::kInvalidArgument, {"--epochs-scale 0"}));
  options = Shortened();
  options.seeds = 0;
  EXPECT_THAT(PlanReproduction(options),
              Fails(StatusCode::kInvalidArgument, {"--seeds 0"}));
}

}  // namespace
}  // namespace densenet
