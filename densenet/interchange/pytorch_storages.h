// densenet/interchange/pytorch_storages.h
//
// The two containers of torch.save, below what their pickles mean: a zip file
// with the pickle and a file for each storage, and the older one, pickles
// followed by the storages. Zip entries must be stored as PyTorch stores them,
// uncompressed, so that nothing takes more memory than the file has bytes.
//
// Errors   DataLoss       damaged, or no such file
//          Unimplemented  compressed, encrypted or big-endian
//          others         those of the system and of pickle_machine.h
// Threads  one at a time

#ifndef DENSENET_DENSENET_INTERCHANGE_PYTORCH_STORAGES_H_
#define DENSENET_DENSENET_INTERCHANGE_PYTORCH_STORAGES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/status.h"
#include "densenet/interchange/pickle_machine.h"

namespace densenet {

class PytorchStorages {
 public:
  virtual ~PytorchStorages() = default;
  // The whole storage `key`, of `bytes` bytes.
  virtual StatusOr<std::string> Read(const std::string& key, int64_t bytes) = 0;
};

struct PytorchContainer {
  pickle::Pickle pickle;
  std::unique_ptr<PytorchStorages> storages;
};

// Whether a file starts as one of the two does.
bool StartsAsZip(std::string_view head);
bool StartsAsLegacy(std::string_view head);
inline constexpr int64_t kPytorchHeadBytes = 16;

StatusOr<PytorchContainer> OpenZipContainer(const std::string& path);
StatusOr<PytorchContainer> OpenLegacyContainer(const std::string& path);

}  // namespace densenet

#endif  // DENSENET_DENSENET_INTERCHANGE_PYTORCH_STORAGES_H_
