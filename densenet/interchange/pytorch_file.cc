#include "densenet/interchange/pytorch_file.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/io/file.h"
#include "densenet/interchange/pytorch_storages.h"

namespace densenet {
namespace {

using pickle::Kind;
using pickle::Node;
using pickle::NodeId;
using pickle::Pickle;
using pickle::TensorLayout;

// Of a tensor's name with what holds it, and of a value's text.
constexpr size_t kMaxTextBytes = 1024;
constexpr int kMaxDepth = 16;

struct Found {
  StoredTensor tensor;
  TensorLayout layout;
};

// Every tensor and plain value that containers lead to. What is reached in
// several ways is there several times, within bounds.
class Walk {
 public:
  explicit Walk(const Pickle& pickle) : pickle_(pickle) {}

  Status Run() { return Visit(pickle_.root, "", "", 0); }
  std::vector<Found>& tensors() { return tensors_; }
  std::map<std::string, std::string>& values() { return values_; }

 private:
  Status Visit(NodeId id, const std::string& container, const std::string& name,
               int depth) {
    if (++visits_ > pickle::kMaxNodes || depth > kMaxDepth ||
        container.size() + name.size() > kMaxTextBytes) {
      return ResourceExhausted(
          "its containers hold each other too often, too deep or under names "
          "that are too long");
    }
    const Node& node = pickle_.node(id);
    const std::string inside =
        container.empty() ? name : container + "." + name;
    switch (node.kind) {
      case Kind::kTensor:
        AddTensor(node, container, name);
        return OkStatus();
      case Kind::kDict:
        for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
          const std::optional<std::string> key = Key(node.items[i]);
          if (!key) continue;
          RETURN_IF_ERROR(Visit(node.items[i + 1], inside, *key, depth + 1));
        }
        return OkStatus();
      case Kind::kList:
      case Kind::kTuple:
        for (size_t i = 0; i < node.items.size(); ++i) {
          RETURN_IF_ERROR(
              Visit(node.items[i], inside, std::to_string(i), depth + 1));
        }
        return OkStatus();
      default:
        AddValue(node, inside, depth);
        return OkStatus();
    }
  }

  std::optional<std::string> Key(NodeId id) const {
    const Node& node = pickle_.node(id);
    if (node.kind == Kind::kText && node.text.size() <= kMaxTextBytes) {
      return node.text;
    }
    if (node.kind == Kind::kInt) return std::to_string(node.integer);
    return std::nullopt;
  }

  void AddTensor(const Node& node, const std::string& container,
                 const std::string& name) {
    const TensorLayout& layout =
        pickle_.tensors[static_cast<size_t>(node.integer)];
    const pickle::Storage& storage =
        pickle_.storages[static_cast<size_t>(layout.storage)];
    tensors_.push_back({{.container = container,
                         .name = name,
                         .dtype = storage.dtype,
                         .shape = layout.shape},
                        layout});
  }

  // Of the top only: an optimizer holds the same few for every parameter.
  void AddValue(const Node& node, const std::string& name, int depth) {
    if (depth != 1) return;
    if (node.kind == Kind::kText && node.text.size() <= kMaxTextBytes) {
      values_[name] = node.text;
    } else if (node.kind == Kind::kInt) {
      values_[name] = std::to_string(node.integer);
    } else if (node.kind == Kind::kFloat) {
      values_[name] = fmt::format("{}", node.real);
    }
  }

  const Pickle& pickle_;
  int64_t visits_ = 0;
  std::vector<Found> tensors_;
  std::map<std::string, std::string> values_;
};

bool IsPacked(const TensorLayout& layout) {
  int64_t stride = 1;
  for (size_t axis = layout.shape.size(); axis-- > 0;) {
    if (layout.shape[axis] != 1 && layout.strides[axis] != stride) return false;
    stride *= layout.shape[axis];
  }
  return true;
}

// The elements of a tensor in row-major order, out of those of its storage.
void Gather(const std::vector<double>& storage, const TensorLayout& layout,
            std::vector<double>& values) {
  std::vector<int64_t> at(layout.shape.size(), 0);
  int64_t from = layout.offset;
  for (double& value : values) {
    value = storage[static_cast<size_t>(from)];
    // The next element: the last index that can counts on.
    for (size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < layout.shape[axis]) {
        from += layout.strides[axis];
        break;
      }
      from -= layout.strides[axis] * (layout.shape[axis] - 1);
      at[axis] = 0;
    }
  }
}

class PytorchFile : public TensorFile {
 public:
  PytorchFile(std::string path, std::unique_ptr<PytorchStorages> storages)
      : TensorFile(std::move(path)), storages_(std::move(storages)) {}

  std::string_view format() const override { return "PyTorch"; }
  Status Describe(Pickle pickle);
  Status ForEachPiece(size_t index, const Visit& visit) override;

 private:
  Status ReadStorage(const pickle::Storage& storage, int64_t bytes);

  const std::unique_ptr<PytorchStorages> storages_;
  std::vector<TensorLayout> layouts_;  // of tensors_
  std::vector<pickle::Storage> described_;
  // The last one that was read: tensors may share it.
  std::optional<std::string> key_;
  std::string bytes_;
};

Status PytorchFile::Describe(Pickle pickle) {
  Walk walk(pickle);
  const Status status = walk.Run();
  if (!status.ok()) return Annotate(status, path());
  std::vector<Found>& found = walk.tensors();
  if (found.empty()) {
    return DataLoss(fmt::format(
        "{}: no tensors are in it, or only inside objects of its program: "
        "there, torch.save(model.state_dict(), FILE)",
        path()));
  }
  std::stable_sort(
      found.begin(), found.end(), [](const Found& a, const Found& b) {
        return NaturalLess(a.tensor.full_name(), b.tensor.full_name());
      });
  for (Found& f : found) {
    tensors_.push_back(std::move(f.tensor));
    layouts_.push_back(std::move(f.layout));
  }
  values_ = std::move(walk.values());
  described_ = std::move(pickle.storages);
  return OkStatus();
}

Status PytorchFile::ReadStorage(const pickle::Storage& storage, int64_t bytes) {
  if (key_ == storage.key && static_cast<int64_t>(bytes_.size()) == bytes) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(bytes_, storages_->Read(storage.key, bytes));
  key_ = storage.key;
  return OkStatus();
}

Status PytorchFile::ForEachPiece(size_t index, const Visit& visit) {
  const StoredTensor& tensor = tensors_[index];
  const TensorLayout& layout = layouts_[index];
  const pickle::Storage& storage =
      described_[static_cast<size_t>(layout.storage)];
  const int64_t element_bytes = ElementBytes(tensor.dtype);
  if (element_bytes == 0) return NoValues(tensor);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(storage.elems, element_bytes, &bytes)) {
    return DataLoss(fmt::format("{}: storage {} of {} elements", path(),
                                storage.key, storage.elems));
  }
  RETURN_IF_ERROR(ReadStorage(storage, bytes));
  const int64_t elems = tensor.elems();
  if (elems == 0) return OkStatus();
  std::vector<double> values(static_cast<size_t>(elems));
  if (IsPacked(layout)) {
    DecodeElements(tensor.dtype, bytes_.data() + layout.offset * element_bytes,
                   absl::MakeSpan(values));
  } else {
    std::vector<double> all(static_cast<size_t>(storage.elems));
    DecodeElements(tensor.dtype, bytes_.data(), absl::MakeSpan(all));
    Gather(all, layout, values);
  }
  visit(values);
  return OkStatus();
}

}  // namespace

StatusOr<bool> IsPytorchFile(const std::string& path) {
  ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  std::string head(
      static_cast<size_t>(std::min(file.size(), kPytorchHeadBytes)), '\0');
  RETURN_IF_ERROR(
      file.ReadAt(0, head.data(), static_cast<int64_t>(head.size())));
  return StartsAsZip(head) || StartsAsLegacy(head);
}

StatusOr<std::unique_ptr<TensorFile>> OpenPytorchFile(const std::string& path) {
  ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  char first = 0;
  RETURN_IF_ERROR(file.ReadAt(0, &first, 1));
  StatusOr<PytorchContainer> container =
      first == 'P' ? OpenZipContainer(path) : OpenLegacyContainer(path);
  RETURN_IF_ERROR(container.status());
  auto opened =
      std::make_unique<PytorchFile>(path, std::move(container->storages));
  RETURN_IF_ERROR(opened->Describe(std::move(container->pickle)));
  return std::unique_ptr<TensorFile>(std::move(opened));
}

}  // namespace densenet
