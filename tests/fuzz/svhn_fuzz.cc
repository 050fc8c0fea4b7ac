#include <glog/logging.h>

#include "densenet/data/dataset.h"
#include "memory/host_memory.h"
#include "tests/fuzz/fuzz_targets.h"

namespace densenet::testing {

void FuzzSvhn(std::string_view bytes) {
  const std::string& folder = WriteScratch("test_32x32.mat", bytes);
  HostMemory memory;
  const StatusOr<Dataset> dataset =
      LoadDataset("svhn", folder, Split::kTest, memory);
  if (!dataset.ok()) return;
  CHECK_GT(dataset->count(), 0);
  for (int64_t i = 0; i < dataset->count(); ++i) {
    CHECK(0 <= dataset->label(i) &&
          dataset->label(i) < dataset->info.classes());
  }
}

}  // namespace densenet::testing
