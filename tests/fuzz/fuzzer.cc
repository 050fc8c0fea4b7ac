// libFuzzer's entry to one of the targets, named by the build.

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  densenet::testing::DENSENET_FUZZ_TARGET(
      {reinterpret_cast<const char*>(data), size});
  return 0;
}
