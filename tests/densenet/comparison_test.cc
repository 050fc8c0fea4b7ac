#include "densenet/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/densenet/comparison_fixture.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::testing::HasSubstr;
using ::testing::Not;

class ComparisonTest : public testing::ComparisonFixture {
 protected:
  ComparisonOptions Tiny(const std::string& name = "compared") {
    ComparisonOptions options;
    options.recipe = testing::TinyRun(data_, runs_.File(name));
    options.recipe.epochs = 2;
    options.optimizers = {"sgd", "nesterov"};
    options.learning_rates = {0.1};
    options.seeds = 2;
    return options;
  }
  static std::vector<double> FinalErrors(const Comparison& comparison) {
    std::vector<double> errors;
    for (const ComparedRuns& row : comparison.rows) {
      for (const RunOutcome& outcome : row.outcomes) {
        errors.push_back(outcome.final_test().loss);
      }
    }
    return errors;
  }
};

TEST_F(ComparisonTest, RunsEveryOptimizerWithEverySeed) {
  StatusOr<Comparison> comparison = Run(Tiny());
  ASSERT_OK(comparison);
  EXPECT_TRUE(comparison->finished);
  EXPECT_EQ(comparison->train_images, 25);
  EXPECT_EQ(comparison->test_images, 12);
  EXPECT_EQ(comparison->seeds, (std::vector<uint64_t>{1, 2}));
  ASSERT_EQ(comparison->rows.size(), 2u);
  for (const ComparedRuns& row : comparison->rows) {
    ASSERT_EQ(row.outcomes.size(), 2u);
    for (const RunConfig& config : row.configs) {
      EXPECT_TRUE(std::filesystem::exists(config.out + "/config.json"));
      EXPECT_EQ(config.validation, 0);
    }
  }
  EXPECT_EQ(comparison->rows[1].configs[1].out,
            runs_.File("compared/runs/nesterov-lr0.1-seed2"));
  EXPECT_THAT(out_.str(), HasSubstr("run 4 of 4: nesterov, rate 0.1, seed 2: "
                                    "test error"));
  // Random bytes are not what CIFAR-10's publisher says.
  EXPECT_THAT(
      comparison->notes,
      ::testing::ElementsAre(HasSubstr("not the published cifar10 files")));
}

// The first step of momentum, its velocity being zero, is that of sgd; so both
// end alike if and only if parameters, images, order, augmentation and dropout
// were the same.
TEST_F(ComparisonTest, ASeedGivesAllTheSameStartAndImages) {
  ComparisonOptions options = Tiny();
  options.optimizers = {"sgd", "momentum"};
  options.recipe.max_steps = 1;
  StatusOr<Comparison> comparison = Run(options);
  ASSERT_OK(comparison);
  const std::vector<double> losses = FinalErrors(*comparison);
  ASSERT_EQ(losses.size(), 4u);
  EXPECT_EQ(losses[0], losses[2]);
  EXPECT_EQ(losses[1], losses[3]);
  EXPECT_NE(losses[0], losses[1]);
}

TEST_F(ComparisonTest, StoppedAnywhereItGoesOnAndEndsAlike) {
  StatusOr<Comparison> whole = Run(Tiny("whole"));
  ASSERT_OK(whole);
  // Within the first run, at its end, in the third.
  for (int stop_at : {2, 13, 30}) {
    SCOPED_TRACE(stop_at);
    const std::string name = fmt::format("stopped-{}", stop_at);
    StatusOr<Comparison> stopped = Run(Tiny(name), stop_at);
    ASSERT_OK(stopped);
    EXPECT_FALSE(stopped->finished);
    StatusOr<Comparison> resumed = Run(Tiny(name));
    ASSERT_OK(resumed);
    EXPECT_TRUE(resumed->finished);
    EXPECT_EQ(FinalErrors(*resumed), FinalErrors(*whole));
  }
  // Done, it is only read.
  ASSERT_OK(Run(Tiny("whole")));
  EXPECT_EQ(steps_, 0);
}

TEST_F(ComparisonTest, TheTimeLimitIsThatOfAllRunsTogether) {
  ComparisonOptions options = Tiny();
  options.recipe.max_time = "1ns";
  StatusOr<Comparison> comparison = Run(options);
  ASSERT_OK(comparison);
  EXPECT_FALSE(comparison->finished);
  EXPECT_THAT(out_.str(), Not(HasSubstr("run 2")));
  options.recipe.max_time = "1h";
  comparison = Run(options);
  ASSERT_OK(comparison);
  EXPECT_TRUE(comparison->finished);
}

// Its preset's recipe holds images out; those that count train on all.
TEST_F(ComparisonTest, ARecipeOfThePaperHoldsOutNothing) {
  ComparisonOptions options = Tiny();
  options.recipe = RunOptions();
  options.recipe.preset = "densenet-40-12";
  options.recipe.dataset = "svhn";
  options.recipe.out = runs_.File("svhn");
  StatusOr<Comparison> comparison = PlanComparison(options);
  ASSERT_OK(comparison);
  EXPECT_EQ(comparison->recipe.validation, 0);
}

TEST_F(ComparisonTest, SeedsAndOptimizersAreAdded) {
  ASSERT_OK(Run(Tiny()));
  ComparisonOptions more = Tiny();
  more.optimizers = {"momentum", "sgd", "nesterov"};
  more.seeds = 3;
  StatusOr<Comparison> comparison = Run(more);
  ASSERT_OK(comparison);
  // 5 of 9 runs are new: 2 epochs of 4 steps and 2 batches of test images.
  EXPECT_EQ(steps_, 5 * 2 * (4 + 2));
}

TEST_F(ComparisonTest, AnotherRecipeIsRefusedBeforeAnythingRuns) {
  ASSERT_OK(Run(Tiny()));
  ComparisonOptions options = Tiny();
  options.recipe.epochs = 3;
  EXPECT_THAT(Run(options), Fails(StatusCode::kFailedPrecondition,
                                  {"epochs: 2 in the run folder, 3 now"}));
  options = Tiny();
  options.optimizers = {"momentum", "nesterov"};
  options.recipe.weight_decay = 0.01;
  EXPECT_THAT(Run(options),
              Fails(StatusCode::kFailedPrecondition,
                    {"nesterov-lr0.1-seed1", "weight-decay: 0.0001"}));
  EXPECT_FALSE(std::filesystem::exists(
      runs_.File("compared/runs/momentum-lr0.1-seed1")));
}

TEST_F(ComparisonTest, DivergenceEndsARunAndNotTheComparison) {
  ComparisonOptions options = Tiny();
  options.learning_rates = {1e30};
  StatusOr<Comparison> comparison = Run(options);
  ASSERT_OK(comparison);
  EXPECT_TRUE(comparison->finished);
  for (const ComparedRuns& row : comparison->rows) {
    for (const RunOutcome& outcome : row.outcomes) {
      EXPECT_TRUE(outcome.divergence.has_value());
    }
  }
  EXPECT_THAT(out_.str(), HasSubstr("seed 2: diverged: step "));
}

TEST_F(ComparisonTest, ImpossibleOptionsAreNamed) {
  const auto refused = [&](const ComparisonOptions& options,
                           const std::vector<std::string>& parts) {
    EXPECT_THAT(PlanComparison(options),
                Fails(StatusCode::kInvalidArgument, parts));
  };
  ComparisonOptions options = Tiny();
  options.optimizers = {"sgd", "sgd"};
  refused(options, {"--optimizers sgd,sgd", "twice"});
  options.optimizers = {"sgd", "adamant"};
  refused(options, {"adamant", "nesterov"});
  options = Tiny();
  options.seeds = 0;
  refused(options, {"--seeds 0"});
  options = Tiny();
  options.learning_rates = {0};
  refused(options, {"--lr 0"});
  options.learning_rates = {0.1, 0.1};
  refused(options, {"--lrs 0.1,0.1", "twice"});
  options = Tiny();
  options.recipe.validation = 5;
  refused(options, {"--validation"});
  options = Tiny();
  options.recipe.patience = 1;
  refused(options, {"--patience"});
  options = Tiny();
  options.grid_epochs = 2;
  refused(options, {"--grid-epochs"});
  options.learning_rates = {};
  options.grid_epochs = 0;
  refused(options, {"--grid-epochs 0"});
  options.grid_epochs = 1;
  options.grid_seeds = 0;
  refused(options, {"--grid-seeds 0"});
}

TEST_F(ComparisonTest, AFolderOfOtherThingsIsLeftAlone) {
  runs_.Write("notes.txt", "mine");
  ComparisonOptions options = Tiny();
  options.recipe.out = runs_.path();
  EXPECT_THAT(Run(options), Fails(StatusCode::kFailedPrecondition,
                                  {runs_.path(), "holds other things"}));
}

}  // namespace
}  // namespace densenet
