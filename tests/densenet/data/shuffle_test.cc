#include "densenet/data/shuffle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

std::vector<int64_t> Values(const Permutation& order) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < order.size(); ++i) values.push_back(order[i]);
  return values;
}

class PermutationTest : public ::testing::TestWithParam<int64_t> {};

TEST_P(PermutationTest, IsABijection) {
  const int64_t n = GetParam();
  for (uint64_t seed : {0, 1, 2}) {
    std::vector<int64_t> values = Values(EpochOrder(n, seed, 0));
    std::sort(values.begin(), values.end());
    std::vector<int64_t> all(n);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(values, all);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PermutationTest,
                         ::testing::Values(0, 1, 2, 3, 5, 15, 16, 17, 31, 64,
                                           100, 1000, 4096, 4097, 50000));

TEST(PermutationTest, DiffersBySeedAndEpoch) {
  std::set<std::vector<int64_t>> orders;
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40}) {
    for (int64_t epoch : {0, 1, 2, 1 << 20}) {
      orders.insert(Values(EpochOrder(100, seed, epoch)));
    }
  }
  EXPECT_EQ(orders.size(), 12u);
  EXPECT_EQ(Values(EpochOrder(100, 3, 4)), Values(EpochOrder(100, 3, 4)));
}

// Beyond 2^32: only that values are in range and differ.
TEST(PermutationTest, LargeDomains) {
  for (int64_t n : {(int64_t{1} << 32) + 1, int64_t{1} << 62}) {
    const Permutation order = EpochOrder(n, 1, 0);
    std::set<int64_t> seen;
    for (int64_t i = 0; i < 1000; ++i) {
      const int64_t value = order[n - 1 - i];
      EXPECT_TRUE(0 <= value && value < n);
      seen.insert(value);
    }
    EXPECT_EQ(seen.size(), 1000u);
  }
}

// The statistic of a chi-square test, in deviations from its mean.
double ChiSquareDeviations(const std::vector<int64_t>& counts) {
  const double total =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0LL));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (int64_t count : counts) {
    sum += (count - expected) * (count - expected) / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (sum - freedom) / std::sqrt(2 * freedom);
}

// Over the epochs every order of a few is equally frequent.
TEST(PermutationTest, OrdersAreUniform) {
  for (const auto& [n, orders_of_n] :
       {std::pair{2, 2}, std::pair{3, 6}, std::pair{4, 24}}) {
    std::map<std::vector<int64_t>, int64_t> orders;
    for (int64_t epoch = 0; epoch < 300 * orders_of_n; ++epoch) {
      ++orders[Values(EpochOrder(n, 1, epoch))];
    }
    std::vector<int64_t> counts;
    for (const auto& [order, count] : orders) counts.push_back(count);
    ASSERT_EQ(static_cast<int>(counts.size()), orders_of_n);
    EXPECT_LT(std::abs(ChiSquareDeviations(counts)), 5) << n;
  }
}

// Over the epochs every example is equally often in every place, and equally
// often followed by every other.
TEST(PermutationTest, PlacesAndNeighboursAreUniform) {
  constexpr int64_t kN = 50;
  std::vector<int64_t> places(kN * kN), pairs(kN * kN), neighbours;
  for (int64_t epoch = 0; epoch < 2000; ++epoch) {
    const std::vector<int64_t> values = Values(EpochOrder(kN, 7, epoch));
    for (int64_t i = 0; i < kN; ++i) {
      ++places[values[i] * kN + i];
      if (i > 0) ++pairs[values[i - 1] * kN + values[i]];
    }
  }
  for (int64_t i = 0; i < kN * kN; ++i) {
    if (i / kN != i % kN) neighbours.push_back(pairs[i]);
  }
  EXPECT_LT(std::abs(ChiSquareDeviations(places)), 5);
  EXPECT_LT(std::abs(ChiSquareDeviations(neighbours)), 5);
}

TEST(HoldOutTest, IsADisjointCoverChosenBySeed) {
  for (int64_t validation : {0, 1, 37, 99}) {
    StatusOr<HeldOut> split = HoldOut(100, validation, 1);
    ASSERT_OK(split);
    EXPECT_EQ(static_cast<int64_t>(split->validation.size()), validation);
    EXPECT_TRUE(std::is_sorted(split->train.begin(), split->train.end()));
    std::set<int64_t> all(split->train.begin(), split->train.end());
    all.insert(split->validation.begin(), split->validation.end());
    EXPECT_EQ(all.size(), 100u);
    EXPECT_EQ(split->train.size() + split->validation.size(), 100u);
  }
  EXPECT_NE(HoldOut(100, 37, 1)->validation, HoldOut(100, 37, 2)->validation);
  // A larger validation set contains the smaller one of the same seed.
  const HeldOut small = *HoldOut(100, 10, 1), large = *HoldOut(100, 20, 1);
  EXPECT_TRUE(std::includes(large.validation.begin(), large.validation.end(),
                            small.validation.begin(), small.validation.end()));
}

TEST(HoldOutTest, SomethingMustBeLeft) {
  EXPECT_THAT(HoldOut(100, 100, 1),
              Fails(StatusCode::kInvalidArgument, {"100 of 100", "0 to 99"}));
  EXPECT_THAT(HoldOut(100, -1, 1),
              Fails(StatusCode::kInvalidArgument, {"-1 of 100"}));
}

}  // namespace
}  // namespace densenet
