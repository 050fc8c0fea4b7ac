#include "tests/support/kernel_target.h"

#include <glog/logging.h>
#include <hwy/highway.h>

#include <cstdlib>
#include <string_view>

namespace densenet::testing {
namespace {

constexpr int64_t kAboveAvx2 = HWY_AVX3 | HWY_AVX3_DL;

}  // namespace

KernelTarget ChosenKernelTarget() {
  const char* value = std::getenv("DENSENET_TEST_TARGET");
  const std::string_view name = value == nullptr ? "" : value;
  if (name.empty()) return KernelTarget::kBest;
  if (name == "avx2") return KernelTarget::kAvx2;
  CHECK(name == "portable") << "DENSENET_TEST_TARGET is " << name;
  return KernelTarget::kPortable;
}

void KernelTargetEnvironment::SetUp() {
  switch (ChosenKernelTarget()) {
    case KernelTarget::kBest:
      return;
    case KernelTarget::kAvx2:
      hwy::DisableTargets(kAboveAvx2);
      return;
    case KernelTarget::kPortable:
      hwy::DisableTargets(kAboveAvx2 | HWY_AVX2);
      return;
  }
}

bool HasFusedMultiplyAdd() {
  return (hwy::SupportedTargets() & (kAboveAvx2 | HWY_AVX2)) != 0;
}

}  // namespace densenet::testing
