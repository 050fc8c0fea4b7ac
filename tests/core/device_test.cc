#include "core/device.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

TEST(DeviceTest, ParsesWhatItPrints) {
  for (const Device device :
       {Device::Cpu(), Device::Cuda(0), Device::Cuda(17)}) {
    const StatusOr<Device> parsed = Device::Parse(device.ToString());
    ASSERT_OK(parsed);
    EXPECT_EQ(*parsed, device);
  }
  EXPECT_EQ(*Device::Parse("cuda"), Device::Cuda(0));
  EXPECT_FALSE(Device::Cuda(1) == Device::Cuda(0));
  EXPECT_FALSE(Device::Cpu() == Device::Cuda(0));
}

TEST(DeviceTest, RefusesTheRestByName) {
  for (const char* text :
       {"", "gpu", "CPU", "cpu:0", "cuda:", "cuda:-1", "cuda:1x", "cuda: 1",
        "cuda:99999999999", "cuda0", "cuda:0,1"}) {
    EXPECT_THAT(Device::Parse(text),
                Fails(StatusCode::kInvalidArgument,
                      {std::string("'") + text + "'", "cuda:<index>"}));
  }
}

}  // namespace
}  // namespace densenet
