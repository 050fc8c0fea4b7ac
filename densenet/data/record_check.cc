#include "densenet/data/record_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "core/io/crc32c.h"
#include "core/io/file.h"
#include "core/io/image_info.h"
#include "core/io/record_index.h"
#include "core/io/record_reader.h"
#include "core/io/record_writer.h"
#include "core/thread_pool.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

// Faults of one file that are kept: a file of noise has one, but one of many
// damaged records has as many.
constexpr size_t kMaxFaults = 10'000;
constexpr int64_t kChunkBytes = int64_t{1} << 20;
constexpr int64_t kRecordsPerStep = 64;  // between looks at should_stop

void AddFault(RecordSetFault fault, RecordFileReport& report) {
  ++report.fault_count;
  if (report.faults.size() < kMaxFaults) {
    report.faults.push_back(std::move(fault));
  }
}

void AddFileFault(std::string kind, std::string detail,
                  RecordFileReport& report) {
  AddFault({.file = report.path,
            .record = std::nullopt,
            .offset = std::nullopt,
            .kind = std::move(kind),
            .detail = std::move(detail)},
           report);
}

RecordSetFault ToSetFault(const RecordFault& fault) {
  return {.file = fault.path,
          .record = fault.record,
          .offset = fault.offset,
          .kind = std::string(Name(fault.kind)),
          .detail = fault.detail};
}

// The name goes into messages of its own fault, which has it already.
constexpr std::string_view kItself = "it";

std::string WithoutName(const Status& status) {
  std::string_view message = StdView(status.message());
  if (message.starts_with("it: ")) message.remove_prefix(4);
  return std::string(message);
}

StatusOr<uint32_t> FileCrc32c(const std::string& path) {
  ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  std::vector<char> chunk(kChunkBytes);
  uint32_t crc = 0;
  for (int64_t at = 0; at < file.size();) {
    const int64_t n = std::min(kChunkBytes, file.size() - at);
    RETURN_IF_ERROR(file.ReadAt(at, chunk.data(), n));
    crc = ExtendCrc32c(crc, chunk.data(), n);
    at += n;
  }
  return crc;
}

int64_t FileBytes(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

class SetCheck {
 public:
  SetCheck(const RecordSet& set, const RecordCheckOptions& options)
      : set_(set), options_(options) {
    for (const std::string& path : set.paths) total_ += FileBytes(path);
  }

  Status Check(const std::string& path, RecordFileReport& report) {
    report.path = path;
    std::error_code error;
    if (!fs::exists(path, error)) {
      AddFileFault("missing file",
                   set_.manifest ? "the manifest names it" : "there is none",
                   report);
      return OkStatus();
    }
    report.bytes = FileBytes(path);
    StatusOr<std::unique_ptr<RecordReader>> reader = RecordReader::Open(path);
    Status status = reader.status();
    if (reader.ok()) status = CheckRecords(**reader, report);
    if (status.code() == StatusCode::kUnavailable) return status;
    if (!status.ok()) {
      AddFileFault("unreadable file", std::string(StdView(status.message())),
                   report);
      return OkStatus();
    }
    return CheckManifest(report);
  }

 private:
  Status CheckRecords(RecordReader& reader, RecordFileReport& report) {
    int64_t seen_bytes = 0;
    for (int64_t step = 1;; ++step) {
      if (step % kRecordsPerStep == 0) RETURN_IF_ERROR(CheckStop());
      StatusOr<std::optional<std::string_view>> record = reader.Next();
      if (record.ok() && !*record) break;
      if (record.ok()) {
        ++report.records;
        if (options_.images) CheckImageRecord(reader, **record, report);
      } else if (reader.fault()) {
        AddFault(ToSetFault(*reader.fault()), report);
      } else {
        return record.status();
      }
      if (!reader.compressed()) {
        Progress(reader.offset() - seen_bytes);
        seen_bytes = reader.offset();
      }
    }
    Progress(report.bytes - seen_bytes);
    return OkStatus();
  }

  void CheckImageRecord(const RecordReader& reader, std::string_view record,
                        RecordFileReport& report) {
    const auto add = [&](std::string kind, const Status& status) {
      AddFault({.file = report.path,
                .record = reader.record(),
                .offset = reader.offset(),
                .kind = std::move(kind),
                .detail = WithoutName(status)},
               report);
    };
    const StatusOr<LabelledImage> image =
        ParseLabelledImage(record, *options_.images, kItself);
    if (!image.ok()) return add("example", image.status());
    report.labels.Add({image->label, image->label});
    if (options_.classes > 0 &&
        (image->label < 0 || image->label >= options_.classes)) {
      add("label", InvalidArgument(fmt::format(
                       "{}, expected one of {} classes, 0 to {}", image->label,
                       options_.classes, options_.classes - 1)));
    }
    const StatusOr<ImageInfo> info = CheckImage(image->encoded, kItself);
    if (!info.ok()) add("image", info.status());
  }

  Status CheckManifest(RecordFileReport& report) {
    if (!set_.manifest) return OkStatus();
    const std::string name = fs::path(report.path).filename().string();
    const RecordShard* shard = set_.manifest->Find(name);
    if (shard == nullptr) return OkStatus();
    const bool whole = report.fault_count == 0;
    if (whole && report.records != shard->records) {
      const bool missing = report.records < shard->records;
      AddFileFault(missing ? "missing records" : "extra records",
                   fmt::format("{} records, the manifest says {}{}",
                               report.records, shard->records,
                               missing ? ": the file was cut between two" : ""),
                   report);
      return OkStatus();
    }
    if (report.bytes != shard->bytes) {
      AddFileFault("other bytes",
                   fmt::format("{} bytes, the manifest says {}", report.bytes,
                               shard->bytes),
                   report);
      return OkStatus();
    }
    if (!whole) return OkStatus();  // its digest differs, and why is known
    ASSIGN_OR_RETURN(const uint32_t crc, FileCrc32c(report.path));
    if (Crc32cHex(crc) != shard->crc32c) {
      AddFileFault("other bytes",
                   fmt::format("CRC-32C {}, the manifest says {}: its records "
                               "are whole, and others",
                               Crc32cHex(crc), shard->crc32c),
                   report);
    }
    return OkStatus();
  }

  Status CheckStop() {
    if (!options_.should_stop) return OkStatus();
    const std::lock_guard<std::mutex> lock(mutex_);
    return options_.should_stop() ? Unavailable("stopped before the end")
                                  : OkStatus();
  }

  void Progress(int64_t bytes) {
    if (!options_.progress) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ += bytes;
    options_.progress(done_, total_);
  }

  const RecordSet& set_;
  const RecordCheckOptions& options_;
  std::mutex mutex_;  // around the callbacks
  int64_t done_ = 0;
  int64_t total_ = 0;
};

}  // namespace

std::string RecordSetFault::ToString() const {
  std::string text = file;
  if (record) text += fmt::format(": record {}", *record);
  if (offset) text += fmt::format(", byte {}", *offset);
  return fmt::format("{}: {}: {}", text, kind, detail);
}

void LabelRange::Add(const LabelRange& other) {
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

std::string LabelsFromOneNote(const LabelRange& labels,
                              const ExampleSchema& schema) {
  if (labels.empty() || labels.min < 1) return "";
  return fmt::format(
      "every label is at least {} (up to {}) and none is 0: if they count "
      "from 1, as TensorFlow's image builder writes them, pass "
      "--label-offset {}",
      labels.min, labels.max, schema.label_offset + 1);
}

StatusOr<std::vector<RecordFileReport>> CheckRecordSet(
    const RecordSet& set, const RecordCheckOptions& options) {
  SetCheck check(set, options);
  std::vector<RecordFileReport> reports(set.paths.size());
  std::vector<Status> statuses(set.paths.size());
  ThreadPool pool(options.threads);
  pool.ParallelFor(static_cast<int64_t>(set.paths.size()), [&](int64_t i, int) {
    const auto at = static_cast<size_t>(i);
    statuses[at] = check.Check(set.paths[at], reports[at]);
  });
  for (const Status& status : statuses) RETURN_IF_ERROR(status);
  for (const std::string& path : set.extra_paths) {
    RecordFileReport report;
    report.path = path;
    report.bytes = FileBytes(path);
    AddFileFault("extra file", "the manifest does not name it", report);
    reports.push_back(std::move(report));
  }
  return reports;
}

StatusOr<int64_t> CountRecords(const std::string& path,
                               const std::function<bool()>& should_stop) {
  ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  ASSIGN_OR_RETURN(const bool packed, IsGzipRecordFile(file));
  if (!packed) {
    ASSIGN_OR_RETURN(const RecordIndex index,
                     RecordIndex::Open(path, {.should_stop = should_stop}));
    return index.size();
  }
  ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader,
                   RecordReader::Open(path));
  for (int64_t count = 0;; ++count) {
    if (count % kRecordsPerStep == 0 && should_stop && should_stop()) {
      return Unavailable("stopped before the end");
    }
    ASSIGN_OR_RETURN(const std::optional<std::string_view> record,
                     reader->Next());
    if (!record) return count;
  }
}

StatusOr<RecordRepairReport> RepairRecordFile(
    const std::string& from, const std::string& to,
    const std::function<bool()>& should_stop) {
  ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader,
                   RecordReader::Open(from));
  std::error_code error;
  if (fs::exists(to, error) && fs::equivalent(from, to, error)) {
    return InvalidArgument(fmt::format(
        "{} and {} are the same file: the repaired one needs a name of its own",
        from, to));
  }
  ASSIGN_OR_RETURN(RecordWriter writer,
                   RecordWriter::Create(to, {.gzip = reader->compressed()}));
  RecordRepairReport report;
  for (int64_t step = 1;; ++step) {
    if (step % kRecordsPerStep == 0 && should_stop && should_stop()) {
      return Unavailable("stopped; nothing was written");
    }
    StatusOr<std::optional<std::string_view>> record = reader->Next();
    if (record.ok() && !*record) break;
    if (record.ok()) {
      RETURN_IF_ERROR(writer.Append(**record));
    } else if (!reader->fault()) {
      return record.status();
    } else {
      ++report.fault_count;
      if (report.faults.size() < kMaxFaults) {
        report.faults.push_back(*reader->fault());
      }
    }
  }
  RETURN_IF_ERROR(writer.Commit());
  report.records = writer.records();
  report.dropped_bytes = reader->dropped_bytes();
  return report;
}

}  // namespace densenet
