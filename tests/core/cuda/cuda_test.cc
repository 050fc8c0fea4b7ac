#include "core/cuda/cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::testing::HasSubstr;

// What every machine can be held to: with a card or without, in builds with
// CUDA and without.
TEST(CudaTest, SaysWhatItWasBuiltWith) {
  EXPECT_THAT(CudaVersions(),
              HasSubstr(BuiltWithCuda() ? "cudnn" : "built without CUDA"));
}

TEST(CudaTest, ListsDevicesOrSaysWhyNot) {
  const auto devices = ListCudaDevices();
  if (devices.ok()) {
    ASSERT_FALSE(devices->empty());
    for (const CudaDeviceInfo& info : *devices) {
      EXPECT_FALSE(info.name.empty());
      EXPECT_GT(info.total_bytes, 0);
    }
  } else if (BuiltWithCuda()) {
    EXPECT_THAT(devices, Fails(StatusCode::kUnavailable,
                               {"no CUDA device", "--device cpu"}));
  } else {
    EXPECT_THAT(devices, Fails(StatusCode::kUnimplemented,
                               {"built without CUDA", "--device cpu"}));
  }
}

TEST(CudaTest, MemoryOfACardThatIsNotThere) {
  const StatusCode code =
      BuiltWithCuda() ? StatusCode::kUnavailable : StatusCode::kUnimplemented;
  EXPECT_EQ(CreateCudaMemory(Device::Cuda(1000), 0).status().code(), code);
  EXPECT_EQ(CreatePinnedMemory(Device::Cuda(1000), 0).status().code(), code);
  EXPECT_EQ(QueryCudaMemory(Device::Cuda(1000)).status().code(), code);
}

}  // namespace
}  // namespace densenet
