#include "densenet/data/record_builder.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "core/io/crc32c.h"
#include "core/io/file.h"
#include "core/io/record_writer.h"
#include "core/thread_pool.h"
#include "densenet/data/shuffle.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kShardBytes = int64_t{128} << 20;

// A finished folder takes the place of an empty folder alone, which is looked
// at before the work.
Status CheckTarget(const std::string& path) {
  const fs::path name = fs::path(path).filename();
  if (path == "/" || name == "." || name == "..") {
    return InvalidArgument(
        fmt::format("{}: it cannot be replaced; give a new folder", path));
  }
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? OkStatus() : FileError("stat", path, errno);
  }
  if (!S_ISDIR(info.st_mode)) {
    return FailedPrecondition(
        fmt::format("{}: it is a {}, expected a folder; give a new one", path,
                    S_ISLNK(info.st_mode) ? "link" : "file"));
  }
  std::error_code error;
  const bool empty = fs::is_empty(path, error);
  if (error) return FileError("list", path, error.value());
  if (empty) return OkStatus();
  return FailedPrecondition(
      fmt::format("{}: it is there and not empty; give a new folder", path));
}

// A folder under a temporary name beside its own, removed unless it gets it.
class TemporaryFolder {
 public:
  static StatusOr<TemporaryFolder> Create(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (path.empty()) return InvalidArgument("write: the folder has no name");
    RETURN_IF_ERROR(CheckTarget(path));
    std::error_code error;
    const fs::path parent = fs::path(path).parent_path();
    if (!parent.empty() && !fs::create_directories(parent, error) && error) {
      return FileError("make folder", parent.string(), error.value());
    }
    TemporaryFolder folder;
    uint32_t bits = 0;
    if (::getrandom(&bits, sizeof(bits), 0) != sizeof(bits)) {
      return FileError("make folder", path, errno);
    }
    folder.path_ = std::move(path);
    folder.temporary_ = fmt::format("{}.tmp-{:08x}", folder.path_, bits);
    if (::mkdir(folder.temporary_.c_str(), 0777) != 0) {
      const int code = errno;
      Status status = FileError("make folder", folder.temporary_, code);
      folder.temporary_.clear();
      return status;
    }
    return folder;
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept
      : path_(std::move(other.path_)),
        temporary_(std::exchange(other.temporary_, std::string())) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    if (temporary_.empty()) return;
    std::error_code error;
    fs::remove_all(temporary_, error);
    if (error) {
      LOG(WARNING) << FileError("remove", temporary_, error.value()).message();
    }
  }

  std::string File(std::string_view name) const {
    return fmt::format("{}/{}", temporary_, name);
  }
  // Its files are synced (core/io/file.h).
  Status Commit() {
    RETURN_IF_ERROR(RenameDurably(temporary_, path_));
    temporary_.clear();
    return OkStatus();
  }

 private:
  TemporaryFolder() = default;

  std::string path_;
  std::string temporary_;
};

// The examples [begin, end) of a split, in its order.
struct Shard {
  const RecordSplit* split = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  RecordShard entry;  // what the manifest says of it
  std::vector<Status> skipped;
  Status status;
};

class Build {
 public:
  Build(const std::vector<std::string>& class_names,
        const RecordBuildOptions& options, const TemporaryFolder& folder)
      : class_names_(class_names), options_(options), folder_(folder) {}

  Status Plan(absl::Span<const RecordSplit> splits) {
    CHECK(!splits.empty());
    const auto size = [](const RecordSplit& split) {
      return static_cast<int64_t>(split.examples.size());
    };
    for (const RecordSplit& split : splits) {
      const int64_t n = size(split);
      total_ += n;
      if (n == 0) {
        return InvalidArgument(fmt::format("{}: no images", split.name));
      }
      int64_t count = 0;
      if (options_.shards == 0) {
        const double share =
            static_cast<double>(n) / static_cast<double>(split.source->count());
        const double bytes = share * static_cast<double>(split.source->bytes());
        count = static_cast<int64_t>(bytes / kShardBytes) + 1;
      } else {
        // Rounded up.
        const int64_t first = size(splits[0]);
        count = (options_.shards * n + first - 1) / first;
        if (&split == splits.data() && count > n) {
          return InvalidArgument(
              fmt::format("{} shards are wanted of {} images", count, n));
        }
      }
      AddShards(split, std::min(count, n));
    }
    return OkStatus();
  }

  // In any order, on all threads. After an error only shards before it go on,
  // so that the same one is reported every time.
  Status Run() {
    ThreadPool pool(options_.threads);
    std::atomic<int64_t> failed{static_cast<int64_t>(shards_.size())};
    pool.ParallelFor(static_cast<int64_t>(shards_.size()), [&](int64_t i, int) {
      Shard& shard = shards_[static_cast<size_t>(i)];
      shard.status = Write(shard, [&] { return failed.load() < i; });
      if (shard.status.ok()) return;
      int64_t expected = failed.load();
      while (i < expected && !failed.compare_exchange_weak(expected, i)) {
      }
    });
    for (const Shard& shard : shards_) RETURN_IF_ERROR(shard.status);
    return OkStatus();
  }

  StatusOr<RecordBuildReport> Report() {
    RecordBuildReport report;
    report.manifest.class_names = class_names_;
    for (Shard& shard : shards_) {
      std::move(shard.skipped.begin(), shard.skipped.end(),
                std::back_inserter(report.skipped));
      report.manifest.shards.push_back(std::move(shard.entry));
    }
    if (report.manifest.records() == 0) {
      return InvalidArgument(
          fmt::format("none of the {} images can be used; the first: {}",
                      total_, StdView(report.skipped.front().message())));
    }
    return report;
  }

 private:
  void AddShards(const RecordSplit& split, int64_t count) {
    const int64_t n = static_cast<int64_t>(split.examples.size());
    for (int64_t s = 0; s < count; ++s) {
      Shard shard;
      shard.split = &split;
      shard.begin = n / count * s + std::min(s, n % count);
      shard.end = shard.begin + n / count + (s < n % count ? 1 : 0);
      shard.entry.split = split.name;
      shard.entry.file = fmt::format("{}-{:05}-of-{:05}.tfrecord{}", split.name,
                                     s, count, options_.gzip ? ".gz" : "");
      shards_.push_back(std::move(shard));
    }
  }

  template <typename Cancelled>
  Status Write(Shard& shard, const Cancelled& cancelled) {
    if (cancelled()) return OkStatus();
    ASSIGN_OR_RETURN(RecordWriter writer,
                     RecordWriter::Create(folder_.File(shard.entry.file),
                                          {.gzip = options_.gzip}));
    const std::vector<int64_t>& examples = shard.split->examples;
    const Permutation order =
        EpochOrder(static_cast<int64_t>(examples.size()), options_.seed, 0);
    for (int64_t position = shard.begin; position < shard.end; ++position) {
      if (cancelled()) return OkStatus();
      RETURN_IF_ERROR(CheckStop());
      const int64_t at = options_.shuffle ? order[position] : position;
      StatusOr<SourceImage> image =
          shard.split->source->Read(examples[static_cast<size_t>(at)]);
      if (image.ok()) {
        RETURN_IF_ERROR(writer.Append(Serialize(*image)));
      } else if (options_.skip_bad && IsBadExample(image.status())) {
        shard.skipped.push_back(image.status());
        RETURN_IF_ERROR(CountBad(image.status()));
      } else {
        if (!IsBadExample(image.status())) return image.status();
        return MakeStatus(
            image.status().code(),
            fmt::format("{} (nothing was written; --on-bad-data skip leaves "
                        "out images that cannot be used)",
                        StdView(image.status().message())));
      }
      Progress();
    }
    RETURN_IF_ERROR(writer.Commit());
    shard.entry.records = writer.records();
    shard.entry.bytes = writer.bytes();
    shard.entry.crc32c = Crc32cHex(writer.crc32c());
    return OkStatus();
  }

  std::string Serialize(const SourceImage& image) const {
    return SerializeImageExample(
        {.encoded = image.encoded,
         .format = image.format,
         .label = image.label,
         .class_name = class_names_[static_cast<size_t>(image.label)],
         .height = image.height,
         .width = image.width,
         .filename = image.filename});
  }

  Status CountBad(const Status& last) {
    const int64_t bad = ++bad_;
    if (bad <= options_.max_bad) return OkStatus();
    return DataLoss(
        fmt::format("{} images could not be read, --max-bad allows {}; the "
                    "last: {}",
                    bad, options_.max_bad, StdView(last.message())));
  }

  Status CheckStop() {
    if (!options_.should_stop) return OkStatus();
    const std::lock_guard<std::mutex> lock(mutex_);
    return options_.should_stop() ? Unavailable("stopped; nothing was written")
                                  : OkStatus();
  }

  void Progress() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++done_;
    if (options_.progress) options_.progress(done_, total_);
  }

  const std::vector<std::string>& class_names_;
  const RecordBuildOptions& options_;
  const TemporaryFolder& folder_;
  std::vector<Shard> shards_;
  std::atomic<int64_t> bad_{0};
  std::mutex mutex_;  // around the callbacks
  int64_t done_ = 0;
  int64_t total_ = 0;
};

}  // namespace

StatusOr<RecordBuildReport> BuildRecords(
    absl::Span<const RecordSplit> splits,
    const std::vector<std::string>& class_names, const std::string& folder,
    const RecordBuildOptions& options) {
  for (const std::string& name : class_names) {
    if (name.find_first_of("\r\n") != std::string::npos) {
      return InvalidArgument(fmt::format(
          "the class name '{}' has a line break, and {} has a name a line; "
          "give the folder another name",
          name, kRecordLabelsName));
    }
  }
  ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Create(folder));
  Build build(class_names, options, temporary);
  RETURN_IF_ERROR(build.Plan(splits));
  RETURN_IF_ERROR(build.Run());
  ASSIGN_OR_RETURN(RecordBuildReport report, build.Report());
  std::string labels;
  for (const std::string& name : class_names) labels += name + '\n';
  RETURN_IF_ERROR(
      WriteFileAtomically(temporary.File(kRecordLabelsName), labels));
  RETURN_IF_ERROR(WriteRecordManifest(temporary.File(kRecordManifestName),
                                      report.manifest));
  RETURN_IF_ERROR(temporary.Commit());
  return report;
}

}  // namespace densenet
