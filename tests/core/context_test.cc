#include "core/context.h"

#include <gtest/gtest.h>

#include "core/cuda/cuda.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

TEST(ContextTest, DefaultsToAllCpus) {
  const auto context = Context::Create({});
  ASSERT_OK(context);
  EXPECT_EQ((*context)->device(), Device::Cpu());
  EXPECT_EQ((*context)->threads().threads(), AvailableCpus());
  EXPECT_GE(AvailableCpus(), 1);
  EXPECT_TRUE((*context)->deterministic());
  EXPECT_FALSE((*context)->synchronize_launches());
}

TEST(ContextTest, KeepsItsOptions) {
  const auto context = Context::Create(
      {.threads = 3, .deterministic = false, .synchronize_launches = true});
  ASSERT_OK(context);
  EXPECT_EQ((*context)->threads().threads(), 3);
  EXPECT_FALSE((*context)->deterministic());
  EXPECT_TRUE((*context)->synchronize_launches());
}

TEST(ContextTest, NegativeThreadsAreAnError) {
  EXPECT_THAT(Context::Create({.threads = -1}),
              Fails(StatusCode::kInvalidArgument, {"threads is -1"}));
}

TEST(ContextTest, CardThatIsNotThere) {
  const auto context = Context::Create({.device = Device::Cuda(1000)});
  ASSERT_FALSE(context.ok());
  if (BuiltWithCuda()) {
    EXPECT_EQ(context.status().code(), StatusCode::kUnavailable);
  } else {
    EXPECT_THAT(context, Fails(StatusCode::kUnimplemented,
                               {"built without CUDA", "--device cpu"}));
  }
}

TEST(ContextTest, NothingToWaitForOnACpu) {
  const auto context = Context::Create({.threads = 1});
  ASSERT_OK(context);
  EXPECT_OK(Synchronize(**context));
}

TEST(ContextDeathTest, CudaStateOfACpuIsOurBug) {
  const auto context = Context::Create({.threads = 1});
  ASSERT_OK(context);
  EXPECT_DEATH((*context)->cuda(), "Context is on cpu");
}

}  // namespace
}  // namespace densenet
