#include "core/ops/bias_add.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"
#include "tests/support/test_workspace.h"

namespace densenet {
namespace {

using testing::BitwiseEqual;
using testing::Fails;
using testing::MakeContext;
using testing::Near;
using testing::TestTensor;
using testing::TestWorkspace;

class BiasAddTest
    : public ::testing::TestWithParam<std::tuple<Shape, int64_t>> {};

TEST_P(BiasAddTest, AgreesWithReferenceForAnyThreads) {
  const auto& [shape, gap] = GetParam();
  const int64_t channels = shape[-1];
  const TestTensor x = TestTensor::Random(shape, 1, gap);
  const TestTensor bias = TestTensor::Random({channels}, 2);
  std::vector<double> expected = x.ToDoubles();
  std::vector<double> expected_db(channels, 0.0);
  for (int64_t i = 0; i < x.elems(); ++i) {
    expected_db[i % channels] += expected[i];
    expected[i] += bias.at(i % channels);
  }
  TestTensor one_db({channels});
  for (int threads : {1, 2, 3}) {
    const auto ctx = MakeContext(threads);
    TestTensor y(shape, 2 * gap);
    ASSERT_OK(BiasAdd(*ctx, x.view(), bias.view(), y.view()));
    EXPECT_TRUE(Near(y.const_view(), expected, 1));
    EXPECT_TRUE(y.GapsUntouched());
    TestTensor in_place = x;
    ASSERT_OK(
        BiasAdd(*ctx, in_place.const_view(), bias.view(), in_place.view()));
    EXPECT_TRUE(BitwiseEqual(in_place.const_view(), y.const_view()));

    TestTensor db({channels});
    TestWorkspace scratch(*BiasAddBackwardWorkspaceBytes(*ctx, x.view()));
    ASSERT_OK(BiasAddBackward(*ctx, x.view(), db.view(), scratch.span()));
    EXPECT_TRUE(scratch.Intact());
    EXPECT_TRUE(Near(db.const_view(), expected_db, x.elems() / channels));
    if (threads == 1) one_db = db;
    EXPECT_TRUE(BitwiseEqual(one_db.const_view(), db.const_view()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BiasAddTest,
    ::testing::Combine(::testing::Values(Shape{1}, Shape{7}, Shape{1, 1},
                                         Shape{65, 10}, Shape{3, 5, 7, 31},
                                         Shape{2, 64, 33, 100}),
                       ::testing::Values(int64_t{0}, int64_t{3})));

TEST(BiasAddErrorTest, NamesTensors) {
  const auto ctx = MakeContext(1);
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  TestTensor x({2, 3});
  const TestTensor bias({4});
  EXPECT_THAT(BiasAdd(*ctx, x.view(), bias.view(), x.view()),
              Fails(kInvalid, {"BiasAdd: bias has shape (4), must be (3)"}));
  TestTensor scalar(Shape{});
  EXPECT_THAT(BiasAdd(*ctx, scalar.view(), bias.view(), scalar.view()),
              Fails(kInvalid, {"BiasAdd: x is a scalar"}));
  EXPECT_THAT(BiasAddBackwardWorkspaceBytes(*ctx, scalar.view()),
              Fails(kInvalid, {"BiasAddBackward: dy is a scalar"}));
  const TestTensor three({3});
  TestTensor y({3, 3});
  EXPECT_THAT(BiasAdd(*ctx, x.view(), three.view(), y.view()),
              Fails(kInvalid, {"y has shape (3, 3), must be (2, 3)"}));
  TestTensor db({3});
  EXPECT_THAT(BiasAddBackward(*ctx, x.view(), db.view(), {}),
              Fails(kInvalid, {"BiasAddBackward: workspace of 0 bytes"}));
  TestTensor wrong({2});
  TestWorkspace scratch(1024);
  EXPECT_THAT(BiasAddBackward(*ctx, x.view(), wrong.view(), scratch.span()),
              Fails(kInvalid, {"db has shape (2), must be (3)"}));
}

}  // namespace
}  // namespace densenet
