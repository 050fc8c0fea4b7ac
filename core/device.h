// core/device.h
//
// Names a device: "cpu", or "cuda:0" for the first card; "cuda" means that one
// too.

#ifndef DENSENET_CORE_DEVICE_H_
#define DENSENET_CORE_DEVICE_H_

#include <string>
#include <string_view>

#include "core/status.h"

namespace densenet {

enum class DeviceType { kCpu, kCuda };

struct Device {
  DeviceType type = DeviceType::kCpu;
  int index = 0;

  static Device Cpu() { return {}; }
  static Device Cuda(int index) { return {DeviceType::kCuda, index}; }
  // Errors  InvalidArgument  not "cpu", "cuda" or "cuda:<index>"
  static StatusOr<Device> Parse(std::string_view text);

  bool is_cpu() const { return type == DeviceType::kCpu; }
  bool is_cuda() const { return type == DeviceType::kCuda; }
  std::string ToString() const;

  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace densenet

#endif  // DENSENET_CORE_DEVICE_H_
