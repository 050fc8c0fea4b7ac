#include "core/ops/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::Fails;
using ::densenet::testing::MakeContext;
using ::densenet::testing::Near;
using ::densenet::testing::TestTensor;

constexpr RandomKey kKey = {42, 7, 3};

TEST(DropoutTest, KeepsTheShareAndScalesTheKept) {
  const auto ctx = MakeContext(2);
  constexpr int64_t kElems = 200000;
  TestTensor x({kElems}), y({kElems});
  for (int64_t i = 0; i < kElems; ++i) x.at(i) = 1.0f;
  for (double rate : {0.1, 0.2, 0.5, 0.9}) {
    ASSERT_OK(Dropout(*ctx, x.view(), rate, kKey, y.view()));
    int64_t kept = 0;
    for (int64_t i = 0; i < kElems; ++i) {
      if (y.at(i) == 0.0f) continue;
      EXPECT_EQ(y.at(i), static_cast<float>(1.0 / (1.0 - rate)));
      ++kept;
    }
    // Five deviations of the binomial distribution.
    EXPECT_NEAR(kept, (1 - rate) * kElems,
                5 * std::sqrt(kElems * rate * (1 - rate)));
  }
}

TEST(DropoutTest, MaskDependsOnTheElementNumberAlone) {
  const TestTensor x = TestTensor::Random({13, 5, 7}, 1);
  TestTensor expected({13, 5, 7});
  for (int64_t i = 0; i < x.elems(); ++i) {
    const DropoutMask mask = DropoutMask::Of(0.3);
    expected.at(i) = mask.Apply(x.at(i), RandomBits(kKey, i));
  }
  for (int threads : {1, 2, 5}) {
    const auto ctx = MakeContext(threads);
    for (int64_t gap : {0, 1, 2, 3}) {
      const TestTensor strided =
          TestTensor::FromVector({13, 5, 7}, x.ToDoubles(), gap);
      TestTensor y({13, 5, 7}, 3 - gap);
      ASSERT_OK(Dropout(*ctx, strided.view(), 0.3, kKey, y.view()));
      EXPECT_TRUE(BitwiseEqual(y.const_view(), expected.const_view()));
      EXPECT_TRUE(y.GapsUntouched());
    }
  }
}

TEST(DropoutTest, BackwardDrawsTheSameMask) {
  const auto ctx = MakeContext(2);
  const TestTensor x = TestTensor::Random({31, 11}, 1);
  const TestTensor dy = TestTensor::Random({31, 11}, 2);
  TestTensor y({31, 11}), dx({31, 11});
  ASSERT_OK(Dropout(*ctx, x.view(), 0.4, kKey, y.view()));
  ASSERT_OK(DropoutBackward(*ctx, dy.view(), 0.4, kKey, dx.view()));
  const float scale = DropoutMask::Of(0.4).scale;
  for (int64_t i = 0; i < x.elems(); ++i) {
    EXPECT_EQ(dx.at(i), y.at(i) == 0.0f ? 0.0f : dy.at(i) * scale);
  }
}

TEST(DropoutTest, KeysGiveDifferentMasks) {
  const auto ctx = MakeContext(1);
  const TestTensor x = TestTensor::Random({1000}, 1);
  TestTensor first({1000}), second({1000});
  ASSERT_OK(Dropout(*ctx, x.view(), 0.5, kKey, first.view()));
  for (const RandomKey& key :
       {RandomKey{43, 7, 3}, RandomKey{42, 8, 3}, RandomKey{42, 7, 4}}) {
    ASSERT_OK(Dropout(*ctx, x.view(), 0.5, key, second.view()));
    EXPECT_FALSE(BitwiseEqual(first.const_view(), second.const_view()));
  }
}

TEST(DropoutTest, RateZeroIsIdentity) {
  const auto ctx = MakeContext(1);
  const TestTensor x = TestTensor::Random({9, 5}, 1, 2);
  TestTensor y({9, 5});
  ASSERT_OK(Dropout(*ctx, x.view(), 0.0, kKey, y.view()));
  EXPECT_TRUE(BitwiseEqual(x.view(), y.const_view()));
}

TEST(DropoutTest, RefusesRatesOutsideTheRange) {
  const auto ctx = MakeContext(1);
  TestTensor x({4});
  for (double rate :
       {-0.1, 1.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(Dropout(*ctx, x.const_view(), rate, kKey, x.view()),
                Fails(StatusCode::kInvalidArgument,
                      {"Dropout: dropout rate is ", "0 <= rate < 1"}));
  }
}

}  // namespace
}  // namespace densenet
