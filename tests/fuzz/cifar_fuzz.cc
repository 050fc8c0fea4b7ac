#include <glog/logging.h>

#include "densenet/data/dataset.h"
#include "memory/host_memory.h"
#include "tests/fuzz/fuzz_targets.h"

namespace densenet::testing {

void FuzzCifar(std::string_view bytes) {
  if (bytes.empty()) return;
  const bool hundred = (bytes[0] & 1) != 0;
  bytes.remove_prefix(1);
  const std::string& folder =
      WriteScratch(hundred ? "test.bin" : "test_batch.bin", bytes);
  HostMemory memory;
  const StatusOr<Dataset> dataset = LoadDataset(
      hundred ? "cifar100" : "cifar10", folder, Split::kTest, memory);
  if (!dataset.ok()) return;
  CHECK_GT(dataset->count(), 0);
  for (int64_t i = 0; i < dataset->count(); ++i) {
    CHECK(0 <= dataset->label(i) &&
          dataset->label(i) < dataset->info.classes());
  }
}

}  // namespace densenet::testing
