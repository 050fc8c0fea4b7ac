#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/io/file.h"
#include "densenet/interchange/pytorch_storages.h"
#include "densenet/interchange/tensor_file.h"

namespace densenet {
namespace {

using pickle::Kind;
using pickle::Node;
using pickle::Pickle;

constexpr int64_t kMaxPickleBytes = int64_t{1} << 25;

// The pickle of the number 0x1950a86a20f9469cfc6c.
constexpr std::string_view kMagic(
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
static_assert(kMagic.size() < kPytorchHeadBytes);

struct Place {
  int64_t offset = 0;
  int64_t bytes = 0;
};

class LegacyStorages : public PytorchStorages {
 public:
  LegacyStorages(RandomAccessFile file, std::map<std::string, Place> places)
      : file_(std::move(file)), places_(std::move(places)) {}

  StatusOr<std::string> Read(const std::string& key, int64_t bytes) override {
    const auto found = places_.find(key);
    if (found == places_.end() || found->second.bytes != bytes) {
      return DataLoss(
          fmt::format("{}: storage {} has {} bytes, its pickle "
                      "says {}",
                      file_.path(), key,
                      found == places_.end() ? 0 : found->second.bytes, bytes));
    }
    std::string data(static_cast<size_t>(bytes), '\0');
    RETURN_IF_ERROR(file_.ReadAt(found->second.offset, data.data(), bytes));
    return data;
  }

 private:
  const RandomAccessFile file_;
  const std::map<std::string, Place> places_;
};

// Where the storages are, whose names `keys` has in their order: each after
// its number of elements.
StatusOr<std::map<std::string, Place>> FindStorages(
    const RandomAccessFile& file, const Pickle& object, const Pickle& keys,
    int64_t offset) {
  constexpr auto kCountBytes = static_cast<int64_t>(sizeof(int64_t));
  std::map<std::string, std::string> types;
  for (const pickle::Storage& storage : object.storages) {
    types[storage.key] = storage.dtype;
  }
  std::map<std::string, Place> places;
  for (pickle::NodeId id : keys.node(keys.root).items) {
    const std::string& key = keys.node(id).text;
    const auto type = types.find(key);
    const int64_t element_bytes =
        type == types.end() ? 0 : ElementBytes(type->second);
    if (element_bytes == 0) {
      return Unimplemented(fmt::format(
          "{}: storage {} has a type that is not known, so what comes after it "
          "cannot be found",
          file.path(), key.substr(0, pickle::kMaxNameBytes)));
    }
    int64_t elems = 0;
    RETURN_IF_ERROR(file.ReadAt(offset, &elems, kCountBytes));
    offset += kCountBytes;
    if (elems < 0 || elems > (file.size() - offset) / element_bytes) {
      return DataLoss(
          fmt::format("{}: it was cut inside storage {}", file.path(), key));
    }
    places[key] = {offset, elems * element_bytes};
    offset += elems * element_bytes;
  }
  return places;
}

}  // namespace

bool StartsAsLegacy(std::string_view head) {
  return head.substr(0, kMagic.size()) == kMagic;
}

StatusOr<PytorchContainer> OpenLegacyContainer(const std::string& path) {
  ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  std::string head(static_cast<size_t>(std::min(file.size(), kMaxPickleBytes)),
                   '\0');
  RETURN_IF_ERROR(
      file.ReadAt(0, head.data(), static_cast<int64_t>(head.size())));
  // The magic number, the version, the machine, the object, its storages.
  constexpr int kPickles = 5;
  constexpr int kObject = 3;
  std::vector<Pickle> pickles;
  int64_t at = 0;
  for (int i = 0; i < kPickles; ++i) {
    StatusOr<Pickle> pickle = pickle::ReadPickle(
        std::string_view(head).substr(static_cast<size_t>(at)));
    if (!pickle.ok()) return Annotate(pickle.status(), path);
    at += pickle->bytes;
    pickles.push_back(*std::move(pickle));
  }
  const Node& keys = pickles.back().node(pickles.back().root);
  if (keys.kind != Kind::kList) {
    return DataLoss(fmt::format("{}: it does not list its storages", path));
  }
  StatusOr<std::map<std::string, Place>> places =
      FindStorages(file, pickles[kObject], pickles.back(), at);
  RETURN_IF_ERROR(places.status());
  return PytorchContainer{
      std::move(pickles[kObject]),
      std::make_unique<LegacyStorages>(std::move(file), *std::move(places))};
}

}  // namespace densenet
