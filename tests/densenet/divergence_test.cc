#include "densenet/divergence.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

TEST(DivergenceTest, IsToldFromOtherErrors) {
  EXPECT_THAT(Diverged("the loss is nan"),
              testing::Fails(StatusCode::kInternal, {"the loss is nan"}));
  EXPECT_TRUE(IsDivergence(Diverged("the loss is nan")));
  EXPECT_FALSE(IsDivergence(Internal("the loss is nan")));
  EXPECT_FALSE(IsDivergence(OkStatus()));
}

}  // namespace
}  // namespace densenet
