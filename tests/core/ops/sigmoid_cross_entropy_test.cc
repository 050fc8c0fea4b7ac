#include "core/ops/sigmoid_cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/numeric_gradient.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::Dot;
using ::densenet::testing::MakeContext;
using ::densenet::testing::Near;
using ::densenet::testing::NumericGradient;
using ::densenet::testing::TestTensor;

using Vector = std::vector<double>;

TEST(SigmoidCrossEntropyTest, MatchesReferenceAndItsGradient) {
  const Shape shape = {5, 7};
  for (int64_t gap : {0, 2}) {
    for (int threads : {1, 2}) {
      const auto ctx = MakeContext(threads);
      const TestTensor x = TestTensor::Random(shape, 1, gap);
      const TestTensor z = TestTensor::Random(shape, 2, gap);
      const TestTensor dy = TestTensor::Random(shape, 3);
      const auto reference = [&](const Vector& v) {
        Vector losses;
        for (size_t i = 0; i < v.size(); ++i) {
          const double p = 1 / (1 + std::exp(-v[i]));
          losses.push_back(-z.at(i) * std::log(p) -
                           (1.0 - z.at(i)) * std::log(1 - p));
        }
        return losses;
      };
      TestTensor losses(shape, gap), dx(shape, gap);
      ASSERT_OK(SigmoidCrossEntropy(*ctx, x.view(), z.view(), losses.view()));
      EXPECT_TRUE(Near(losses.const_view(), reference(x.ToDoubles()), 1));
      ASSERT_OK(SigmoidCrossEntropyBackward(*ctx, x.view(), z.view(), dy.view(),
                                            dx.view()));
      const Vector expected = NumericGradient(
          [&](const Vector& v) { return Dot(reference(v), dy.ToDoubles()); },
          x.ToDoubles());
      EXPECT_TRUE(Near(dx.const_view(), expected, 1));
    }
  }
}

TEST(SigmoidCrossEntropyTest, LargeLogitsAreExact) {
  const auto ctx = MakeContext(1);
  const TestTensor x = TestTensor::FromVector({4}, {1e4, 1e4, -1e4, -1e4});
  const TestTensor z = TestTensor::FromVector({4}, {1, 0, 1, 0});
  TestTensor losses({4});
  ASSERT_OK(SigmoidCrossEntropy(*ctx, x.view(), z.view(), losses.view()));
  EXPECT_EQ(losses.ToDoubles(), Vector({0, 1e4, 1e4, 0}));
}

}  // namespace
}  // namespace densenet
