#include <glog/logging.h>

#include "densenet/interchange/pickle_machine.h"
#include "densenet/interchange/pytorch_file.h"
#include "tests/fuzz/fuzz_targets.h"

namespace densenet::testing {
namespace {

void CheckPickle(std::string_view bytes) {
  const StatusOr<pickle::Pickle> pickle = pickle::ReadPickle(bytes);
  if (!pickle.ok()) return;
  CHECK_LE(pickle->bytes, static_cast<int64_t>(bytes.size()));
  const auto nodes = static_cast<pickle::NodeId>(pickle->nodes.size());
  CHECK(0 <= pickle->root && pickle->root < nodes);
  for (const pickle::Node& node : pickle->nodes) {
    for (pickle::NodeId item : node.items) CHECK(0 <= item && item < nodes);
  }
}

void ReadFile(const std::string& path) {
  StatusOr<std::unique_ptr<TensorFile>> file = OpenPytorchFile(path);
  if (!file.ok()) return;
  for (size_t i = 0; i < (*file)->tensors().size(); ++i) {
    int64_t elems = 0;
    const Status status =
        (*file)->ForEachPiece(i, [&](absl::Span<const double> piece) {
          elems += static_cast<int64_t>(piece.size());
        });
    if (status.ok()) CHECK_EQ(elems, (*file)->tensors()[i].elems());
  }
}

}  // namespace

void FuzzPytorch(std::string_view bytes) {
  CheckPickle(bytes);
  if (bytes.empty()) return;
  ReadFile(WriteScratch("file.pth", bytes) + "/file.pth");
}

}  // namespace densenet::testing
