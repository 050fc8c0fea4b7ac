#include "densenet/comparison_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/densenet/comparison_fixture.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ComparisonGridTest : public testing::ComparisonFixture {
 protected:
  ComparisonOptions Tiny(const std::vector<double>& rates) {
    ComparisonOptions options;
    options.recipe = testing::TinyRun(data_, runs_.File("compared"));
    options.recipe.epochs = 1;
    options.optimizers = {"nesterov"};
    options.learning_rates = rates;
    options.seeds = 1;
    return options;
  }
  static std::vector<double> Rates(const Comparison& comparison) {
    std::vector<double> rates;
    for (const RatePoint& point : comparison.grid.front().points) {
      rates.push_back(point.rate);
    }
    return rates;
  }
};

TEST_F(ComparisonGridTest, ATenthIsHeldOutAtMostFiveThousand) {
  EXPECT_EQ(DefaultGridValidation(50'000), 5000);
  EXPECT_EQ(DefaultGridValidation(1'281'167), 5000);
  EXPECT_EQ(DefaultGridValidation(1234), 123);
  EXPECT_EQ(DefaultGridValidation(3), 1);
}

TEST_F(ComparisonGridTest, TheRateIsChosenOnImagesHeldOut) {
  ComparisonOptions options = Tiny({0.3, 0.001});
  options.grid_epochs = 2;
  options.grid_seeds = 2;
  StatusOr<Comparison> comparison = Run(options);
  ASSERT_OK(comparison);
  EXPECT_TRUE(comparison->finished);
  EXPECT_THAT(Rates(*comparison), ElementsAre(0.001, 0.3));
  EXPECT_EQ(comparison->grid_recipe->validation, 2);
  EXPECT_EQ(comparison->grid_recipe->epochs, 2);
  // The mean over the seeds of what the runs' last rows say.
  for (const RatePoint& point : comparison->grid.front().points) {
    double error = 0;
    for (int seed : {1, 2}) {
      StatusOr<std::vector<EpochMetrics>> rows = ReadMetricsCsv(
          runs_.File(fmt::format("compared/grid/nesterov-lr{}-seed{}/"
                                 "metrics.csv",
                                 point.rate, seed)));
      ASSERT_OK(rows);
      error += rows->back().validation->error_percent / 2;
    }
    EXPECT_EQ(point.error_percent, error);
  }
  // The run that counts has all images, the recipe's epochs and that rate.
  const ComparedRuns& row = comparison->rows.front();
  EXPECT_EQ(row.learning_rate, comparison->grid.front().chosen());
  EXPECT_EQ(row.configs.front().validation, 0);
  EXPECT_EQ(row.configs.front().epochs, 1);
}

TEST_F(ComparisonGridTest, AutomaticRatesGoOnPastTheirEdge) {
  StatusOr<Comparison> comparison = Run(Tiny({}));
  ASSERT_OK(comparison);
  const RateSearch& search = comparison->grid.front();
  std::vector<double> rates = Rates(*comparison);
  EXPECT_TRUE(std::is_sorted(rates.begin(), rates.end()));
  EXPECT_THAT(rates, ::testing::IsSupersetOf({0.03, 0.1, 0.3}));
  ASSERT_LE(rates.size(), 7u);
  const bool at_edge = EdgeOf(search.points) != GridEdge::kNone;
  EXPECT_EQ(at_edge, rates.size() == 7);
  EXPECT_EQ(search.notes.size(), at_edge ? 1u : 0u);
}

TEST_F(ComparisonGridTest, WhereAllDivergeLowerRatesAreTriedAndItSaysSo) {
  ComparisonOptions options = Tiny({1e29, 1e30});
  StatusOr<Comparison> comparison = Run(options);
  ASSERT_OK(comparison);
  const RateSearch& search = comparison->grid.front();
  EXPECT_EQ(search.chosen(), 1e29);
  EXPECT_THAT(search.notes,
              ElementsAre(HasSubstr("diverged at every rate tried")));
  EXPECT_TRUE(comparison->rows.front().outcomes.front().divergence);
}

TEST_F(ComparisonGridTest, AListIsTakenAsItIsAndAnEdgeIsSaid) {
  StatusOr<Comparison> comparison = Run(Tiny({0.1, 1e30}));
  ASSERT_OK(comparison);
  const RateSearch& search = comparison->grid.front();
  EXPECT_EQ(search.points.size(), 2u);
  EXPECT_EQ(search.points[1].error_percent, std::nullopt);
  EXPECT_THAT(search.notes, ElementsAre(HasSubstr("a lower one may be")));
}

TEST_F(ComparisonGridTest, StoppedInTheGridItGoesOn) {
  const ComparisonOptions options = Tiny({0.1, 0.01});
  StatusOr<Comparison> stopped = Run(options, /*stop_at=*/8);
  ASSERT_OK(stopped);
  EXPECT_FALSE(stopped->finished);
  EXPECT_TRUE(stopped->rows.empty());
  StatusOr<Comparison> resumed = Run(options);
  ASSERT_OK(resumed);
  EXPECT_TRUE(resumed->finished);
  ASSERT_OK(Run(options));
  EXPECT_EQ(steps_, 0);
}

TEST_F(ComparisonGridTest, AnotherGridIsRefused) {
  ASSERT_OK(Run(Tiny({0.1, 0.01})));
  ComparisonOptions options = Tiny({0.1, 0.01});
  options.optimizers = {"sgd", "nesterov"};
  options.recipe.validation = 3;
  EXPECT_THAT(Run(options), Fails(StatusCode::kFailedPrecondition,
                                  {"grid/nesterov-lr0.01-seed1",
                                   "validation: 2 in the run folder, 3 now"}));
  EXPECT_EQ(steps_, 0);
}

}  // namespace
}  // namespace densenet
