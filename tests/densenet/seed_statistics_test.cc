#include "densenet/seed_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "densenet/run_folder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tolerance.h"

namespace densenet {
namespace {

using ::testing::ElementsAre;

// A handful of float64 operations, and a distribution of two libraries that
// promise some units in the last place each.
void ExpectClose(double actual, double expected) {
  EXPECT_NEAR(actual, expected,
              std::abs(expected) *
                  testing::RelativeTolerance(DType::kFloat64, 1 << 20));
}

// tests/densenet/golden/seed_statistics.py
TEST(SeedStatisticsTest, AgreesWithScipy) {
  StatusOr<Json> golden = ReadJsonObject(
      DENSENET_SOURCE_DIR "/tests/densenet/golden/seed_statistics.json");
  ASSERT_OK(golden);
  ASSERT_FALSE((*golden)["rows"].empty());
  for (const Json& row : (*golden)["rows"]) {
    const std::vector<double> a = row["a"];
    const std::vector<double> b = row["b"];
    const SampleSummary summary = Summarize(a);
    ExpectClose(summary.mean, row["mean"]);
    ExpectClose(*summary.deviation, row["deviation"]);
    std::vector<double> differences;
    for (size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
    const std::optional<PairedTest> test = TestPaired(differences);
    ASSERT_TRUE(test.has_value());
    EXPECT_EQ(test->degrees_of_freedom, row["degrees_of_freedom"]);
    ExpectClose(test->t, row["t"]);
    ExpectClose(test->p, row["p"]);
    ExpectClose(test->low, row["low"]);
    ExpectClose(test->high, row["high"]);
  }
}

TEST(SeedStatisticsTest, TheSignOfADifferenceIsThatOfItsT) {
  const std::optional<PairedTest> test = TestPaired({-1.0, -2.0, -4.0});
  const std::optional<PairedTest> opposite = TestPaired({1.0, 2.0, 4.0});
  EXPECT_LT(test->t, 0);
  EXPECT_EQ(test->p, opposite->p);
  EXPECT_EQ(test->low, -opposite->high);
}

TEST(SeedStatisticsTest, WithoutSpreadThereIsNoTest) {
  EXPECT_EQ(TestPaired({}), std::nullopt);
  EXPECT_EQ(TestPaired({1.5}), std::nullopt);
  EXPECT_EQ(TestPaired({0.1, 0.1, 0.1}), std::nullopt);
  EXPECT_EQ(Summarize({1.5}).deviation, std::nullopt);
}

TEST(SeedStatisticsTest, HolmMultipliesFromTheSmallestOn) {
  // 0.01 * 3; max(that, 0.02 * 2); max(those, 0.03).
  EXPECT_THAT(HolmAdjusted({0.03, 0.01, 0.02}), ElementsAre(0.04, 0.03, 0.04));
  EXPECT_THAT(HolmAdjusted({0.6, 0.7}), ElementsAre(1.0, 1.0));
  EXPECT_THAT(HolmAdjusted({0.2}), ElementsAre(0.2));
  EXPECT_THAT(HolmAdjusted({}), ElementsAre());
}

}  // namespace
}  // namespace densenet
