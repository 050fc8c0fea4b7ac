#include "core/ops/window.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using testing::Fails;

WindowGeometry Rows(int64_t extent, int64_t window, int64_t stride,
                    const Padding& padding) {
  // A width on which nothing happens.
  StatusOr<WindowGeometry> geometry =
      ResolveWindow("op", extent, 64, window, 1, Stride{stride, 1}, padding);
  EXPECT_OK(geometry);
  return *geometry;
}

TEST(WindowTest, SamePutsTheOddElementAtTheEnd) {
  const WindowGeometry even = Rows(32, 2, 1, Padding::Same());
  EXPECT_EQ(even.out_h, 32);
  EXPECT_EQ(even.top, 0);
  EXPECT_EQ(even.bottom, 1);
  const WindowGeometry strided = Rows(224, 7, 2, Padding::Same());
  EXPECT_EQ(strided.out_h, 112);
  EXPECT_EQ(strided.top, 2);
  EXPECT_EQ(strided.bottom, 3);
  EXPECT_EQ(strided.left, 0);
  EXPECT_EQ(strided.right, 0);
  // Nothing to add when the stride exceeds the window.
  EXPECT_EQ(Rows(7, 1, 3, Padding::Same()).bottom, 0);
  EXPECT_EQ(Rows(7, 1, 3, Padding::Same()).out_h, 3);
}

TEST(WindowTest, ValidAndExplicitRoundDown) {
  EXPECT_EQ(Rows(8, 3, 2, Padding::Valid()).out_h, 3);
  EXPECT_EQ(Rows(3, 3, 5, Padding::Valid()).out_h, 1);
  const WindowGeometry explicit_padding =
      Rows(7, 3, 2, Padding::Explicit(1, 2, 0, 0));
  EXPECT_EQ(explicit_padding.out_h, 4);
  EXPECT_EQ(explicit_padding.top, 1);
  EXPECT_EQ(explicit_padding.bottom, 2);
}

TEST(WindowTest, ValidIgnoresPaddingFields) {
  Padding padding = Padding::Valid();
  padding.top = 5;
  EXPECT_EQ(Rows(8, 3, 1, padding).top, 0);
}

TEST(WindowTest, Names) {
  EXPECT_EQ(Padding::Same().ToString(), "SAME");
  EXPECT_EQ(Padding::Valid().ToString(), "VALID");
  EXPECT_EQ(Padding::Explicit(1, 2, 3, 4).ToString(),
            "(top 1, bottom 2, left 3, right 4)");
}

TEST(WindowTest, Errors) {
  const auto resolve = [](int64_t h, int64_t window, int64_t stride,
                          const Padding& padding) {
    return ResolveWindow("TestOp", h, 4, window, 1, Stride{stride, 1}, padding);
  };
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  EXPECT_THAT(resolve(0, 1, 1, Padding::Same()),
              Fails(kInvalid, {"TestOp", "image of 0 x 4"}));
  EXPECT_THAT(resolve(4, 0, 1, Padding::Same()),
              Fails(kInvalid, {"TestOp", "window of 0 x 1"}));
  EXPECT_THAT(resolve(4, 1, 0, Padding::Same()),
              Fails(kInvalid, {"TestOp", "stride of 0 x 1"}));
  EXPECT_THAT(resolve(4, 1, 1, Padding::Explicit(0, 0, -2, 0)),
              Fails(kInvalid, {"TestOp", "left -2", "negative"}));
  EXPECT_THAT(resolve(4, 5, 1, Padding::Valid()),
              Fails(kInvalid, {"TestOp", "window of 5 x 1", "image of 4 x 4",
                               "VALID", "use SAME"}));
}

TEST(WindowTest, PoolsNeedAnElementUnderEachWindow) {
  const PoolParams params{2, 3, {1, 1}, Padding::Explicit(0, 2, 0, 0)};
  EXPECT_THAT(ResolvePool("MaxPool", 4, 4, params),
              Fails(StatusCode::kInvalidArgument,
                    {"MaxPool", "bottom 2", "smaller than the window of 2"}));
}

}  // namespace
}  // namespace densenet
