#include <glog/logging.h>

#include <algorithm>

#include "densenet/data/dataset.h"
#include "memory/host_memory.h"
#include "tests/fuzz/fuzz_targets.h"

namespace densenet::testing {

void FuzzIdx(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const size_t wanted = static_cast<uint8_t>(bytes[0]) |
                        static_cast<size_t>(static_cast<uint8_t>(bytes[1]))
                            << 8;
  bytes.remove_prefix(2);
  const size_t images = std::min(wanted, bytes.size());
  WriteScratch("train-images-idx3-ubyte", bytes.substr(0, images));
  const std::string& folder =
      WriteScratch("train-labels-idx1-ubyte", bytes.substr(images));
  HostMemory memory;
  const StatusOr<Dataset> dataset =
      LoadDataset("mnist", folder, Split::kTrain, memory);
  if (!dataset.ok()) return;
  CHECK_GT(dataset->count(), 0);
  for (int64_t i = 0; i < dataset->count(); ++i) {
    CHECK(0 <= dataset->label(i) &&
          dataset->label(i) < dataset->info.classes());
  }
}

}  // namespace densenet::testing
