#include "densenet/comparison_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/densenet/test_cifar.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Errors by epoch.
RunOutcome Outcome(const std::vector<double>& errors) {
  RunOutcome outcome;
  for (double error : errors) {
    EpochMetrics epoch;
    epoch.epoch = static_cast<int64_t>(outcome.epochs.size()) + 1;
    epoch.test = Score{.loss = error / 10, .error_percent = error};
    epoch.seconds = 60;
    outcome.epochs.push_back(epoch);
  }
  return outcome;
}

// Two epochs with three seeds each; the numbers are the first case of
// tests/densenet/golden/seed_statistics.json.
class ComparisonReportTest : public ::testing::Test {
 protected:
  ComparisonReportTest() {
    comparison_.options.learning_rates = {0.1};
    comparison_.seeds = {1, 2, 3};
    comparison_.train_images = 50'000;
    comparison_.test_images = 10'000;
    comparison_.finished = true;
    Add("sgd",
        {Outcome({60, 19.53}), Outcome({61, 19.21}), Outcome({62, 19.88})});
    Add("nesterov",
        {Outcome({7, 8.91}), Outcome({50, 9.02}), Outcome({51, 8.80})});
    comparison_.recipe = comparison_.rows.front().configs.front();
  }
  void Add(const std::string& optimizer, std::vector<RunOutcome> outcomes) {
    const testing::TempDir data;
    ComparedRuns row;
    row.optimizer = optimizer;
    row.learning_rate = 0.1;
    for (uint64_t seed = 1; seed <= outcomes.size(); ++seed) {
      RunOptions options = testing::TinyRun(data, "out");
      options.optimizer = optimizer;
      options.seed = seed;
      StatusOr<RunConfig> config = ResolveRunConfig(options);
      EXPECT_OK(config);
      row.configs.push_back(*config);
    }
    row.outcomes = std::move(outcomes);
    comparison_.rows.push_back(std::move(row));
  }
  void KeepSeeds(size_t count) {
    comparison_.seeds.resize(count);
    for (ComparedRuns& row : comparison_.rows) {
      row.configs.erase(row.configs.begin() + static_cast<int64_t>(count),
                        row.configs.end());
      row.outcomes.erase(row.outcomes.begin() + static_cast<int64_t>(count),
                         row.outcomes.end());
    }
  }

  Comparison comparison_;
};

TEST_F(ComparisonReportTest, FinalAndBestStayApart) {
  const std::vector<ComparisonRow> rows = SummarizeRuns(comparison_);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_DOUBLE_EQ(rows[1].final_error->mean, 8.91);
  EXPECT_DOUBLE_EQ(rows[1].best_error->mean, (7 + 9.02 + 8.80) / 3);
  EXPECT_EQ(rows[0].training_seconds, 3 * 2 * 60);
  const std::string text = ComparisonText(comparison_);
  EXPECT_THAT(text, HasSubstr("8.91 +- 0.11"));
  EXPECT_THAT(text, HasSubstr("8.27 +- 1.11"));
  EXPECT_THAT(text, HasSubstr("all 50000 training images"));
  EXPECT_THAT(text,
              HasSubstr("weight decay 0.0001 * w added to the gradient of "
                        "every parameter, alike for all\n"));
  EXPECT_THAT(text, HasSubstr("nesterov momentum 0.9\n"));
  EXPECT_THAT(text, HasSubstr("3 epochs of batches of 8, schedule step"));
  comparison_.recipe.steps_per_epoch = 5;
  EXPECT_THAT(ComparisonText(comparison_),
              HasSubstr("3 epochs of 5 steps of batches of 8"));
}

TEST_F(ComparisonReportTest, ASignificantDifferenceIsCalledSo) {
  const std::vector<ComparisonPair> pairs = ComparePairs(comparison_);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_TRUE(pairs[0].significant());
  EXPECT_EQ(pairs[0].verdict,
            "sgd and nesterov: significant at 5 % (p 0.0006); nesterov is "
            "better by 10.63 points");
  const std::string text = ComparisonText(comparison_);
  EXPECT_THAT(text, HasSubstr("9.52 to 11.74"));
  EXPECT_THAT(text, HasSubstr(pairs[0].verdict));
}

TEST_F(ComparisonReportTest, SeveralPairsAreCorrected) {
  Add("momentum", {Outcome({9, 8.95}), Outcome({9, 8.93}), Outcome({9, 8.87})});
  const std::vector<ComparisonPair> pairs = ComparePairs(comparison_);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_LT(pairs[1].test->p, pairs[0].test->p);
  EXPECT_DOUBLE_EQ(*pairs[1].adjusted_p, 3 * pairs[1].test->p);
  // Twice its own would be less.
  EXPECT_LT(2 * pairs[0].test->p, *pairs[1].adjusted_p);
  EXPECT_EQ(pairs[0].adjusted_p, pairs[1].adjusted_p);
  EXPECT_TRUE(pairs[1].significant());  // sgd, momentum
  EXPECT_FALSE(pairs[2].significant());
  EXPECT_THAT(pairs[2].verdict,
              ::testing::StartsWith(
                  "nesterov and momentum: not significant at 5 % (p "));
  EXPECT_THAT(pairs[2].verdict, HasSubstr("after Holm's correction"));
  EXPECT_THAT(pairs[2].verdict, HasSubstr("may be chance"));
}

TEST_F(ComparisonReportTest, OneSeedIsNotTested) {
  KeepSeeds(1);
  const std::vector<ComparisonPair> pairs = ComparePairs(comparison_);
  EXPECT_EQ(pairs[0].test, std::nullopt);
  EXPECT_FALSE(pairs[0].significant());
  EXPECT_THAT(pairs[0].verdict, HasSubstr("no test of significance"));
  const std::string text = ComparisonText(comparison_);
  EXPECT_THAT(text, Not(HasSubstr("+-")));
  EXPECT_THAT(text, HasSubstr(pairs[0].verdict));
  EXPECT_TRUE(ComparisonJson(comparison_)["rows"][0]["final_error_deviation"]
                  .is_null());
}

TEST_F(ComparisonReportTest, ADivergedRunIsCountedAndNotAveraged) {
  comparison_.rows[0].outcomes[1].epochs.clear();
  comparison_.rows[0].outcomes[1].divergence = "step 7: the loss is nan";
  const std::vector<ComparisonRow> rows = SummarizeRuns(comparison_);
  EXPECT_THAT(rows[0].diverged, ElementsAre(2u));
  EXPECT_EQ(rows[0].final_error->count, 2);
  const std::vector<ComparisonPair> pairs = ComparePairs(comparison_);
  EXPECT_EQ(pairs[0].verdict,
            "sgd and nesterov: no comparison, a run diverged");
  EXPECT_THAT(ComparisonText(comparison_), HasSubstr("1/3"));
  EXPECT_THAT(ComparisonCsv(comparison_), HasSubstr("\nsgd,0.1,2,,,,,,0,"));
  const Json json = ComparisonJson(comparison_);
  EXPECT_EQ(json["rows"][0]["runs"][1]["diverged"], "step 7: the loss is nan");
  EXPECT_TRUE(json["rows"][0]["runs"][1]["final_error"].is_null());
}

TEST_F(ComparisonReportTest, JsonAndCsvHoldEveryRun) {
  const Json json = ComparisonJson(comparison_);
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][1]["optimizer"], "nesterov");
  EXPECT_EQ(json["rows"][1]["runs"][2]["seed"], 3);
  EXPECT_EQ(json["rows"][1]["runs"][0]["best_epoch"], 1);
  EXPECT_EQ(json["pairs"][0]["significant"], true);
  EXPECT_EQ(json["pairs"][0]["differences"].size(), 3u);
  EXPECT_FALSE(json["recipe"].contains("optimizer"));
  EXPECT_EQ(json["recipe"]["batch"], 8);
  const std::string csv = ComparisonCsv(comparison_);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  EXPECT_THAT(csv, ::testing::StartsWith("optimizer,lr,seed,final_error,"));
  EXPECT_THAT(csv, HasSubstr("\nnesterov,0.1,1,8.91,7.0,1,"));
}

TEST_F(ComparisonReportTest, TheGridIsShown) {
  comparison_.grid_recipe = comparison_.recipe;
  comparison_.grid_recipe->validation = 5000;
  RateSearch search;
  search.optimizer = "sgd";
  search.points = {{.rate = 0.1, .error_percent = 25},
                   {.rate = 0.3, .error_percent = 24.5},
                   {.rate = 1, .error_percent = std::nullopt}};
  search.notes = {"sgd: something"};
  comparison_.grid.push_back(search);
  const std::string text = ComparisonText(comparison_);
  EXPECT_THAT(text, HasSubstr("5000 training images held out,\n         45000 "
                              "trained on"));
  EXPECT_THAT(text, HasSubstr("0.1: 25.00 %  0.3: 24.50 % *  1: diverged"));
  EXPECT_THAT(text, HasSubstr("note     sgd: something"));
  const Json json = ComparisonJson(comparison_);
  ASSERT_EQ(json["grid"].size(), 3u);
  EXPECT_EQ(json["grid"][1]["chosen"], true);
  EXPECT_TRUE(json["grid"][2]["validation_error_mean"].is_null());
  EXPECT_EQ(json["grid_recipe"]["validation"], 5000);
}

TEST_F(ComparisonReportTest, ThePlotHasMeansAndBands) {
  const Plot plot = ComparisonPlot(comparison_);
  ASSERT_EQ(plot.series.size(), 2u);
  EXPECT_THAT(plot.series[0].x, ElementsAre(1, 2));
  EXPECT_THAT(plot.series[0].y[0], 61);
  EXPECT_THAT(plot.series[0].low[0], 60);
  EXPECT_THAT(plot.series[0].high[0], 62);
  EXPECT_THAT(plot.title, HasSubstr("mean of 3 seeds"));
  KeepSeeds(1);
  EXPECT_TRUE(ComparisonPlot(comparison_).series[0].low.empty());
}

}  // namespace
}  // namespace densenet
