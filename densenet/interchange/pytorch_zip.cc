#include <fmt/format.h>
#include <zip.h>

#include <limits>
#include <utility>

#include "densenet/interchange/pytorch_storages.h"

namespace densenet {
namespace {

// A network's takes some 100 KB.
constexpr uint64_t kMaxPickleBytes = uint64_t{1} << 25;

struct ZipDeleter {
  void operator()(zip_t* zip) const noexcept { zip_discard(zip); }
};
using UniqueZip = std::unique_ptr<zip_t, ZipDeleter>;

struct ZipFileDeleter {
  void operator()(zip_file_t* file) const noexcept { zip_fclose(file); }
};
using UniqueZipFile = std::unique_ptr<zip_file_t, ZipFileDeleter>;

class ZipStorages : public PytorchStorages {
 public:
  ZipStorages(std::string path, UniqueZip zip)
      : path_(std::move(path)), zip_(std::move(zip)) {}

  // Finds the pickle, whose folder is that of the storages too.
  StatusOr<std::string> ReadPickleBytes();
  // So far only PyTorch on little-endian machines.
  Status CheckByteOrder();
  StatusOr<std::string> Read(const std::string& key, int64_t bytes) override;

 private:
  struct Entry {
    uint64_t index = 0;
    uint64_t bytes = 0;
  };
  // `name` is below the folder of the pickle.
  StatusOr<Entry> Find(const std::string& name);
  StatusOr<Entry> Check(uint64_t index, const std::string& name);
  StatusOr<std::string> ReadEntry(const Entry& entry, const std::string& name);
  Status Damaged(std::string_view name, std::string_view what) const {
    return DataLoss(fmt::format("{}: {}: {}", path_, name, what));
  }

  const std::string path_;
  const UniqueZip zip_;
  std::string folder_;  // "archive/"
};

StatusOr<std::string> ZipStorages::ReadPickleBytes() {
  constexpr std::string_view kPickle = "data.pkl";
  const zip_int64_t entries = zip_get_num_entries(zip_.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* found = zip_get_name(zip_.get(), index, 0);
    const std::string_view name = found == nullptr ? "" : found;
    const size_t slash = name.find('/');
    const std::string_view file =
        slash == std::string_view::npos ? name : name.substr(slash + 1);
    if (file != kPickle) continue;
    folder_ = name.substr(0, name.size() - file.size());
    ASSIGN_OR_RETURN(const Entry entry, Check(index, std::string(name)));
    if (entry.bytes > kMaxPickleBytes) {
      return Damaged(
          name, fmt::format("{} bytes: no network's has so many", entry.bytes));
    }
    return ReadEntry(entry, std::string(name));
  }
  return DataLoss(fmt::format(
      "{}: a zip file without data.pkl: torch.save did not write it", path_));
}

Status ZipStorages::CheckByteOrder() {
  const StatusOr<Entry> entry = Find("byteorder");
  if (!entry.ok()) return OkStatus();  // older than the entry
  constexpr uint64_t kMaxBytes = 16;
  if (entry->bytes > kMaxBytes) return Damaged("byteorder", "it is too long");
  ASSIGN_OR_RETURN(const std::string order, ReadEntry(*entry, "byteorder"));
  if (order == "little") return OkStatus();
  return Unimplemented(fmt::format(
      "{}: its byte order is '{}'; only little is read", path_, order));
}

StatusOr<ZipStorages::Entry> ZipStorages::Find(const std::string& name) {
  const std::string full = folder_ + name;
  const zip_int64_t index = zip_name_locate(zip_.get(), full.c_str(), 0);
  if (index < 0) return Damaged(full, "the zip file has no such entry");
  return Check(static_cast<uint64_t>(index), full);
}

StatusOr<ZipStorages::Entry> ZipStorages::Check(uint64_t index,
                                                const std::string& name) {
  zip_stat_t stat;
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD |
                                   ZIP_STAT_COMP_SIZE |
                                   ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(zip_.get(), index, 0, &stat) != 0 ||
      (stat.valid & kNeeded) != kNeeded) {
    return Damaged(name, zip_strerror(zip_.get()));
  }
  if (stat.comp_method != ZIP_CM_STORE ||
      stat.encryption_method != ZIP_EM_NONE) {
    return Unimplemented(fmt::format(
        "{}: {} is compressed or encrypted, which PyTorch does not do: load "
        "the file there and save it again",
        path_, name));
  }
  if (stat.size != stat.comp_size) {
    return Damaged(
        name, fmt::format("{} bytes stored in {}", stat.size, stat.comp_size));
  }
  return Entry{index, stat.size};
}

StatusOr<std::string> ZipStorages::ReadEntry(const Entry& entry,
                                             const std::string& name) {
  const UniqueZipFile file(zip_fopen_index(zip_.get(), entry.index, 0));
  if (file == nullptr) return Damaged(name, zip_strerror(zip_.get()));
  // Grows as bytes come: what the directory says may be wrong.
  constexpr size_t kPieceBytes = size_t{1} << 20;
  std::string bytes;
  for (;;) {
    const size_t had = bytes.size();
    bytes.resize(had + kPieceBytes);
    const zip_int64_t got =
        zip_fread(file.get(), bytes.data() + had, kPieceBytes);
    // Its checksum is compared at the end.
    if (got < 0) return Damaged(name, zip_file_strerror(file.get()));
    bytes.resize(had + static_cast<size_t>(got));
    if (got == 0) break;
  }
  if (bytes.size() != entry.bytes) {
    return Damaged(name, fmt::format("{} bytes, the zip file says {}",
                                     bytes.size(), entry.bytes));
  }
  return bytes;
}

StatusOr<std::string> ZipStorages::Read(const std::string& key, int64_t bytes) {
  const std::string name = "data/" + key;
  ASSIGN_OR_RETURN(const Entry entry, Find(name));
  if (entry.bytes != static_cast<uint64_t>(bytes)) {
    return Damaged(
        name, fmt::format("{} bytes, its pickle says {}", entry.bytes, bytes));
  }
  return ReadEntry(entry, name);
}

}  // namespace

bool StartsAsZip(std::string_view head) {
  return head.substr(0, 4) == std::string_view("PK\x03\x04", 4);
}

StatusOr<PytorchContainer> OpenZipContainer(const std::string& path) {
  int code = 0;
  UniqueZip zip(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (zip == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string what = zip_error_strerror(&error);
    zip_error_fini(&error);
    return DataLoss(fmt::format("{}: zip file: {}", path, what));
  }
  auto storages = std::make_unique<ZipStorages>(path, std::move(zip));
  ASSIGN_OR_RETURN(const std::string bytes, storages->ReadPickleBytes());
  RETURN_IF_ERROR(storages->CheckByteOrder());
  StatusOr<pickle::Pickle> pickle = pickle::ReadPickle(bytes);
  if (!pickle.ok()) return Annotate(pickle.status(), path);
  return PytorchContainer{*std::move(pickle), std::move(storages)};
}

}  // namespace densenet
