#include "densenet/rate_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/optim/optimizer.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::testing::ElementsAre;

// Points of rising rates with these errors; below 0: diverged.
std::vector<RatePoint> Points(const std::vector<double>& errors) {
  std::vector<RatePoint> points;
  const double rates[] = {0.01, 0.03, 0.1, 0.3, 1};
  for (double error : errors) {
    RatePoint point;
    point.rate = rates[points.size()];
    if (error >= 0) point.error_percent = error;
    points.push_back(point);
  }
  return points;
}

TEST(RateGridTest, EveryOptimizerHasUsualRates) {
  for (const std::string& name : OptimizerNames()) {
    StatusOr<std::vector<double>> rates = UsualRates(name);
    ASSERT_OK(rates);
    EXPECT_EQ(rates->size(), 3u);
  }
  EXPECT_THAT(*UsualRates("nesterov"), ElementsAre(0.03, 0.1, 0.3));
  EXPECT_THAT(*UsualRates("adam"), ElementsAre(0.0003, 0.001, 0.003));
  EXPECT_THAT(UsualRates("lion"),
              testing::Fails(StatusCode::kInvalidArgument, {"lion", "--lrs"}));
}

TEST(RateGridTest, TheLowestErrorIsBest) {
  EXPECT_EQ(BestPoint(Points({30, 20, 25})), 1u);
  EXPECT_EQ(BestPoint(Points({30, -1, 25})), 2u);
  EXPECT_EQ(BestPoint(Points({-1, -1, 25})), 2u);
  EXPECT_EQ(BestPoint(Points({-1, -1, -1})), 0u);
  EXPECT_EQ(BestPoint(Points({0, 1})), 0u);
  std::vector<RatePoint> equal = Points({20, 20, 20});
  EXPECT_EQ(BestPoint(equal), 0u);
  equal[2].loss = -1;
  EXPECT_EQ(BestPoint(equal), 2u);
}

TEST(RateGridTest, AnEdgeAsksForMore) {
  EXPECT_EQ(EdgeOf(Points({30, 20, 25})), GridEdge::kNone);
  EXPECT_EQ(EdgeOf(Points({10, 20, 25})), GridEdge::kLowest);
  EXPECT_EQ(EdgeOf(Points({30, 20, 15})), GridEdge::kHighest);
  // What diverged is an end, too.
  EXPECT_EQ(EdgeOf(Points({30, 20, -1})), GridEdge::kNone);
  EXPECT_EQ(EdgeOf(Points({-1, -1, -1})), GridEdge::kLowest);
}

TEST(RateGridTest, TheNextRateIsThatOfTheSeries) {
  EXPECT_EQ(RateBeyond(Points({30, 20, 15}), GridEdge::kHighest), 0.3);
  EXPECT_EQ(RateBeyond(Points({30, 20}), GridEdge::kHighest), 0.1);
  EXPECT_EQ(RateBeyond(Points({10, 20}), GridEdge::kLowest), 0.003);
  std::vector<RatePoint> points = {{.rate = 1}, {.rate = 3}};
  EXPECT_EQ(RateBeyond(points, GridEdge::kHighest), 10);
  EXPECT_EQ(RateBeyond(points, GridEdge::kLowest), 0.3);
  points = {{.rate = 0.05}};
  EXPECT_EQ(RateBeyond(points, GridEdge::kLowest), 0.03);
  EXPECT_EQ(RateBeyond(points, GridEdge::kHighest), 0.1);
}

}  // namespace
}  // namespace densenet
