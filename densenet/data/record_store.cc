#include "densenet/data/record_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <utility>

#include "absl/strings/str_replace.h"
#include "core/io/crc32c.h"
#include "core/io/file.h"
#include "core/io/gzip_reader.h"
#include "core/io/image.h"
#include "core/io/record_reader.h"
#include "densenet/data/class_names.h"
#include "densenet/data/record_manifest.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTestNames[] = {"val", "test"};  // also valid...
// A label beyond it is no class number but something else.
constexpr int64_t kMaxClasses = 1'000'000;
// Room for the largest record is held all along: what images have besides their
// bytes is little.
constexpr int64_t kMaxRecordBytes = kMaxImageFileBytes + (int64_t{1} << 20);

// One file of a split, and its records if somebody wrote them down.
struct SplitFile {
  std::string path;
  std::optional<int64_t> records;
};

struct SplitFiles {
  std::vector<SplitFile> files;
  std::optional<RecordManifest> manifest;
};

bool IsOfSplit(std::string_view name, Split split) {
  if (split == Split::kTrain) return name.starts_with("train");
  return std::any_of(
      std::begin(kTestNames), std::end(kTestNames),
      [&](std::string_view test) { return name.starts_with(test); });
}

// Of several splits to evaluate on the one that is wanted: "val" before "test".
std::string_view SplitStem(std::string_view name) {
  for (std::string_view stem : kTestNames) {
    if (name.starts_with(stem)) return stem;
  }
  return "train";
}

// Keeps the files of one split: see the header's contract.
void KeepOneSplit(std::vector<std::pair<std::string, SplitFile>>& named,
                  Split split) {
  std::erase_if(
      named, [&](const auto& file) { return !IsOfSplit(file.first, split); });
  if (split == Split::kTrain) return;
  const bool any_val = std::any_of(
      named.begin(), named.end(),
      [](const auto& file) { return SplitStem(file.first) == "val"; });
  if (!any_val) return;
  std::erase_if(
      named, [](const auto& file) { return SplitStem(file.first) != "val"; });
}

StatusOr<SplitFiles> FindSplit(const std::string& folder, Split split) {
  if (folder.empty()) {
    return InvalidArgument(
        "records: name the folder of the record files with --data DIR");
  }
  SplitFiles found;
  std::vector<std::pair<std::string, SplitFile>> named;  // by split or name
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return NotFound(fmt::format("{}: there is no such folder", folder));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> subfolders, NamesIn(folder));
  std::erase_if(subfolders, [&](const std::string& name) {
    return !IsOfSplit(name, split) ||
           !fs::is_directory(fs::path(folder) / name, error);
  });
  StatusOr<RecordSet> set = FindRecordSet(folder);
  if (set.ok()) {
    found.manifest = set->manifest;
    for (const std::string& path : set->paths) {
      const std::string name = fs::path(path).filename().string();
      const RecordShard* shard =
          found.manifest ? found.manifest->Find(name) : nullptr;
      SplitFile file{path, std::nullopt};
      if (shard != nullptr) file.records = shard->records;
      named.emplace_back(shard != nullptr ? shard->split : name,
                         std::move(file));
    }
  } else if (subfolders.empty()) {
    return set.status();
  }
  for (const std::string& name : subfolders) {
    ASSIGN_OR_RETURN(const RecordSet inner,
                     FindRecordSet(fmt::format("{}/{}", folder, name)));
    for (const std::string& path : inner.paths) {
      named.emplace_back(name, SplitFile{path, std::nullopt});
    }
  }
  KeepOneSplit(named, split);
  if (named.empty()) {
    return NotFound(fmt::format(
        "{}: no record files {}: expected names, or folders, that begin with "
        "{}",
        folder, split == Split::kTrain ? "to train on" : "to evaluate on",
        split == Split::kTrain ? "train" : "val or test"));
  }
  for (auto& [name, file] : named) found.files.push_back(std::move(file));
  return found;
}

ExampleSchema SchemaOf(const RecordQuery& query,
                       const std::optional<RecordManifest>& manifest) {
  ExampleSchema schema = manifest ? manifest->schema : ExampleSchema();
  if (query.image_key) schema.image_key = *query.image_key;
  if (query.label_key) schema.label_key = *query.label_key;
  if (query.label_offset) schema.label_offset = *query.label_offset;
  return schema;
}

// Classes by the labels of the files themselves.
StatusOr<std::vector<std::string>> CountClasses(const SplitFiles& files,
                                                const ExampleSchema& schema,
                                                bool tolerant) {
  int64_t least = std::numeric_limits<int64_t>::max(), most = -1;
  for (const SplitFile& file : files.files) {
    ASSIGN_OR_RETURN(
        std::unique_ptr<RecordReader> reader,
        RecordReader::Open(file.path, {.max_record_bytes = kMaxRecordBytes}));
    for (;;) {
      const auto record = reader->Next();
      if (!record.ok() && reader->fault() && tolerant) continue;
      RETURN_IF_ERROR(record.status());
      if (!*record) break;
      const StatusOr<LabelledImage> image = ParseLabelledImage(
          **record, schema,
          fmt::format("{}: record {}", file.path, reader->record()));
      if (!image.ok() && tolerant) continue;
      RETURN_IF_ERROR(image.status());
      least = std::min(least, image->label);
      most = std::max(most, image->label);
    }
  }
  if (least < 0 || most < 0 || most >= kMaxClasses) {
    return InvalidArgument(
        fmt::format("{}, ...: labels are {} to {}, expected 0 to at most {}; "
                    "is --label-offset {} right?",
                    files.files.front().path, least, most, kMaxClasses - 1,
                    schema.label_offset));
  }
  if (least > 0 && schema.label_offset == 0) {
    return InvalidArgument(fmt::format(
        "{}, ...: labels are {} to {}: where they count from {}, give "
        "--label-offset {}; where a class has no examples, name the classes in "
        "labels.txt",
        files.files.front().path, least, most, least, least));
  }
  std::vector<std::string> names;
  for (int64_t i = 0; i <= most; ++i) names.push_back(std::to_string(i));
  return names;
}

StatusOr<std::vector<std::string>> ClassNames(const RecordQuery& query,
                                              const SplitFiles& train) {
  if (train.manifest && !train.manifest->class_names.empty()) {
    return train.manifest->class_names;
  }
  const std::string labels =
      fmt::format("{}/{}", query.folder, kRecordLabelsName);
  std::error_code error;
  if (fs::exists(labels, error)) return ReadClassNames(labels);
  return CountClasses(train, SchemaOf(query, train.manifest),
                      query.max_faults.has_value());
}

// A file that has no name and goes with its descriptor, with what `path`
// unpacks to, up to where it is damaged.
StatusOr<UniqueFd> Unpacked(const std::string& path, Status* damage) {
  constexpr int64_t kBlock = 1 << 20;
  const char* given = std::getenv("TMPDIR");
  const std::string folder = given != nullptr && *given ? given : "/var/tmp";
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const std::string name = fmt::format("{} (unpacked {})", folder, path);
  if (!fd.valid()) return FileError("create a temporary file in", name, errno);
  ASSIGN_OR_RETURN(std::unique_ptr<GzipReader> reader, GzipReader::Open(path));
  std::vector<char> block(kBlock);
  for (;;) {
    const StatusOr<int64_t> bytes =
        reader->ReadUntilDamage(block.data(), kBlock);
    if (bytes.status().code() == StatusCode::kDataLoss) {
      *damage = bytes.status();
      return fd;
    }
    RETURN_IF_ERROR(bytes.status());
    if (*bytes == 0) return fd;
    RETURN_IF_ERROR(WriteFully(fd.get(), name, block.data(), *bytes));
  }
}

// Without `max_faults` the first fault is the error; with it up to one more is
// found, which is enough to refuse the file.
StatusOr<RecordIndex> OpenIndex(const std::string& path,
                                std::optional<int64_t> max_faults,
                                std::vector<std::string>* faults) {
  ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  ASSIGN_OR_RETURN(const bool packed, IsGzipRecordFile(file));
  UniqueFd unpacked;
  Status damage;
  std::string readable = path;
  if (packed) {
    ASSIGN_OR_RETURN(unpacked, Unpacked(path, &damage));
    if (!max_faults) RETURN_IF_ERROR(damage);
    readable = fmt::format("/proc/self/fd/{}", unpacked.get());
  }
  std::vector<RecordFault> found;
  StatusOr<RecordIndex> index =
      RecordIndex::Open(readable,
                        {.max_record_bytes = kMaxRecordBytes,
                         .max_faults = max_faults.value_or(0)},
                        max_faults ? &found : nullptr);
  if (!index.ok()) {
    return MakeStatus(
        index.status().code(),
        absl::StrReplaceAll(index.status().message(), {{readable, path}}));
  }
  for (RecordFault& fault : found) {
    fault.path = path;
    faults->push_back(fault.ToString());
  }
  if (!damage.ok()) faults->emplace_back(StdView(damage.message()));
  return index;
}

}  // namespace

StatusOr<std::vector<std::string>> RecordClassNames(const RecordQuery& query) {
  ASSIGN_OR_RETURN(const SplitFiles train,
                   FindSplit(query.folder, Split::kTrain));
  return ClassNames(query, train);
}

StatusOr<std::unique_ptr<RecordStore>> RecordStore::Open(
    const RecordQuery& query, Split split, std::vector<std::string>* notes) {
  std::unique_ptr<RecordStore> store(new RecordStore);
  ASSIGN_OR_RETURN(const SplitFiles train,
                   FindSplit(query.folder, Split::kTrain));
  store->info_.name = "records";
  store->info_.channels = 3;
  ASSIGN_OR_RETURN(store->info_.class_names, ClassNames(query, train));
  store->schema_ = SchemaOf(query, train.manifest);
  ASSIGN_OR_RETURN(const SplitFiles files, FindSplit(query.folder, split));
  for (const SplitFile& file : files.files) {
    RETURN_IF_ERROR(
        store->AddShard(file.path, file.records, query.max_faults, notes));
  }
  return store;
}

Status RecordStore::AddShard(const std::string& path,
                             std::optional<int64_t> records,
                             std::optional<int64_t> max_faults,
                             std::vector<std::string>* notes) {
  std::vector<std::string> faults;
  ASSIGN_OR_RETURN(RecordIndex index, OpenIndex(path, max_faults, &faults));
  for (const std::string& fault : faults) {
    notes->push_back("passed over: " + fault);
  }
  const auto found = static_cast<int64_t>(faults.size());
  faults_ += found;
  if (records && index.size() != *records) {
    const std::string text = fmt::format("{}: {} records, the manifest says {}",
                                         path, index.size(), *records);
    if (!max_faults) {
      return DataLoss(text + "; densenet records verify says what is wrong");
    }
    notes->push_back(text);
    faults_ += std::max<int64_t>(*records - index.size() - found, 0);
  }
  if (max_faults && faults_ > *max_faults) {
    return DataLoss(fmt::format(
        "{}: {} damaged or missing records so far, --max-bad allows {}; the "
        "last: {}",
        path, faults_, *max_faults, notes->back()));
  }
  for (int64_t i = 0; i < index.size(); ++i) {
    max_bytes_ = std::max(max_bytes_, index.record_bytes(i));
  }
  const std::string name = fs::path(path).filename().string();
  const int64_t sizes[] = {index.size(), index.file_bytes()};
  digest_ =
      ExtendCrc32c(digest_, name.data(), static_cast<int64_t>(name.size()) + 1);
  digest_ = ExtendCrc32c(digest_, sizes, sizeof(sizes));
  const int64_t first = count_;
  count_ += index.size();
  shards_.push_back({path, std::move(index), first});
  return OkStatus();
}

const RecordStore::Shard& RecordStore::ShardOf(int64_t i) const {
  CHECK(0 <= i && i < count_);
  auto next = std::upper_bound(
      shards_.begin(), shards_.end(), i,
      [](int64_t number, const Shard& shard) { return number < shard.first; });
  return *(next - 1);
}

std::string RecordStore::NameOf(int64_t i) const {
  const Shard& shard = ShardOf(i);
  return fmt::format("{}: record {}", shard.path, i - shard.first);
}

StatusOr<LabelledImage> RecordStore::ReadImage(int64_t i,
                                               absl::Span<char> room) const {
  const Shard& shard = ShardOf(i);
  std::optional<RecordFault> fault;
  const StatusOr<std::string_view> record =
      shard.index.Read(i - shard.first, room, &fault);
  if (fault) {
    fault->path = shard.path;
    return fault->ToStatus();
  }
  RETURN_IF_ERROR(record.status());
  ASSIGN_OR_RETURN(const LabelledImage image,
                   ParseLabelledImage(*record, schema_, NameOf(i)));
  if (image.label < 0 || image.label >= info_.classes()) {
    return InvalidArgument(fmt::format(
        "{}: label {} (with --label-offset {}), expected one of {} classes, 0 "
        "to {}",
        NameOf(i), image.label, schema_.label_offset, info_.classes(),
        info_.classes() - 1));
  }
  return image;
}

StatusOr<int32_t> RecordStore::Label(int64_t i) const {
  const Shard& shard = ShardOf(i);
  std::vector<char> room(
      static_cast<size_t>(shard.index.record_bytes(i - shard.first)));
  ASSIGN_OR_RETURN(const LabelledImage image,
                   ReadImage(i, absl::MakeSpan(room)));
  return static_cast<int32_t>(image.label);
}

StatusOr<Example> RecordStore::Read(int64_t i, absl::Span<char> scratch) const {
  ASSIGN_OR_RETURN(const LabelledImage image, ReadImage(i, scratch));
  return Example{.label = static_cast<int32_t>(image.label),
                 .pixels = nullptr,
                 .encoded = image.encoded};
}

}  // namespace densenet
