#include "core/ops/initializers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::Fails;
using ::densenet::testing::MakeContext;
using ::densenet::testing::TestTensor;

constexpr uint64_t kSeed = 17;
constexpr int64_t kElems = 100000;

TestTensor Draw(const Initializer& initializer, const Shape& shape,
                std::string_view name = "w", uint64_t seed = kSeed,
                int threads = 2, int64_t gap = 0) {
  const auto ctx = MakeContext(threads);
  TestTensor y(shape, gap);
  EXPECT_OK(Initialize(*ctx, initializer, seed, name, {}, y.view()));
  EXPECT_TRUE(y.GapsUntouched());
  return y;
}

struct Moments {
  double mean = 0, deviation = 0, low = 1e30, high = -1e30;
};

Moments MomentsOf(const TestTensor& x) {
  Moments m;
  double squares = 0;
  for (double v : x.ToDoubles()) {
    m.mean += v / static_cast<double>(x.elems());
    squares += v * v / static_cast<double>(x.elems());
    m.low = std::min(m.low, v);
    m.high = std::max(m.high, v);
  }
  m.deviation = std::sqrt(squares - m.mean * m.mean);
  return m;
}

// Five deviations of a sample mean.
double Slack(double deviation) {
  return 5 * deviation / std::sqrt(static_cast<double>(kElems));
}

TEST(InitializersTest, Constant) {
  EXPECT_EQ(Draw(Initializer::Constant(0.25), {3, 5}, "w", 1, 1, 2).ToDoubles(),
            std::vector<double>(15, 0.25));
}

TEST(InitializersTest, Uniform) {
  const Moments m = MomentsOf(Draw(Initializer::Uniform(-1, 3), {kElems}));
  const double deviation = 4 / std::sqrt(12.0);
  EXPECT_NEAR(m.mean, 1.0, Slack(deviation));
  EXPECT_NEAR(m.deviation, deviation, Slack(deviation));
  EXPECT_GE(m.low, -1.0);
  EXPECT_LT(m.high, 3.0);
}

TEST(InitializersTest, Normal) {
  const TestTensor x = Draw(Initializer::Normal(2, 0.5), {kElems});
  const Moments m = MomentsOf(x);
  EXPECT_NEAR(m.mean, 2.0, Slack(0.5));
  EXPECT_NEAR(m.deviation, 0.5, Slack(0.5));
  int64_t beyond = 0;  // two deviations
  for (double v : x.ToDoubles()) beyond += std::abs(v - 2.0) > 1.0;
  const double p = std::erfc(std::sqrt(2.0));
  EXPECT_NEAR(beyond / static_cast<double>(kElems), p,
              Slack(std::sqrt(p * (1 - p))));
}

TEST(InitializersTest, TruncatedNormalStaysWithinTwoDeviations) {
  const Moments m =
      MomentsOf(Draw(Initializer::TruncatedNormal(-1, 0.5), {kElems}));
  EXPECT_NEAR(m.mean, -1.0, Slack(0.5));
  EXPECT_GE(m.low, -2.0);
  EXPECT_LE(m.high, 0.0);
  // The variance of a standard normal cut at a is
  // 1 - 2 a density(a) / P(|z| < a).
  const double density = std::exp(-2.0) / std::sqrt(2 * std::acos(-1.0));
  const double kept = 1 - std::erfc(std::sqrt(2.0));
  EXPECT_NEAR(m.deviation, 0.5 * std::sqrt(1 - 4 * density / kept), Slack(0.5));
}

TEST(InitializersTest, HeFanOut) {
  const Moments filter =
      MomentsOf(Draw(Initializer::HeFanOut(), {3, 5, 80, 90}));
  EXPECT_NEAR(filter.mean, 0.0, Slack(filter.deviation));
  const double deviation = std::sqrt(2.0 / (3 * 5 * 90));
  EXPECT_NEAR(filter.deviation, deviation, Slack(deviation));
  const Moments dense = MomentsOf(Draw(Initializer::HeFanOut(), {1000, 100}));
  EXPECT_NEAR(dense.deviation, std::sqrt(0.02), Slack(std::sqrt(0.02)));
}

TEST(InitializersTest, ScaledTakesAnotherVariable) {
  const auto ctx = MakeContext(1);
  const TestTensor source = TestTensor::Random({4, 3}, 1);
  TestTensor y({4, 3});
  ASSERT_OK(Initialize(*ctx, Initializer::Scaled("a", -0.5), kSeed, "b",
                       source.view(), y.view()));
  for (int64_t i = 0; i < y.elems(); ++i) {
    EXPECT_EQ(y.at(i), -0.5f * source.at(i));
  }
}

TEST(InitializersTest, ElementsDependOnSeedNameAndNumberAlone) {
  for (const Initializer& initializer :
       {Initializer::Uniform(0, 1), Initializer::Normal(0, 1),
        Initializer::TruncatedNormal(0, 1), Initializer::HeFanOut()}) {
    const Shape shape = {3, 3, 50, 61};
    const TestTensor x = Draw(initializer, shape, "a/w", kSeed, 1);
    for (int threads : {2, 5}) {
      EXPECT_TRUE(BitwiseEqual(
          x.view(), Draw(initializer, shape, "a/w", kSeed, threads, threads)
                        .const_view()));
    }
    EXPECT_FALSE(BitwiseEqual(
        x.view(), Draw(initializer, shape, "b/w", kSeed).const_view()));
    EXPECT_FALSE(BitwiseEqual(
        x.view(), Draw(initializer, shape, "a/w", kSeed + 1).const_view()));
  }
}

TEST(InitializersTest, ErrorsNameTheVariable) {
  constexpr StatusCode kCode = StatusCode::kInvalidArgument;
  const auto ctx = MakeContext(1);
  TestTensor y({3, 4, 5});
  const auto initialize = [&](const Initializer& initializer,
                              ConstTensorView source = {}) {
    return Initialize(*ctx, initializer, kSeed, "a/w", source, y.view());
  };
  EXPECT_THAT(initialize(Initializer::HeFanOut()),
              Fails(kCode, {"HeFanOut of a/w (3, 4, 5)", "(R, S, C, K)"}));
  EXPECT_THAT(initialize(Initializer::Normal(0, -1)), Fails(kCode, {"a/w"}));
  EXPECT_THAT(initialize(Initializer::Uniform(2, 1)),
              Fails(kCode, {"a/w: uniform in [2, 1)"}));
  EXPECT_THAT(initialize(Initializer::Scaled("c", 1)),
              Fails(kCode, {"a/w: no source variable 'c'"}));
  const TestTensor other({2});
  EXPECT_THAT(initialize(Initializer::Scaled("c", 1), other.view()),
              Fails(kCode, {"c has shape (2), must be (3, 4, 5)"}));
}

}  // namespace
}  // namespace densenet
