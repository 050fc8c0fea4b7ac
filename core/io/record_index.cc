#include "core/io/record_index.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/io/record_reader.h"

namespace densenet {
namespace {

// Headers nearer to each other than this come with one read of several.
constexpr int64_t kNearBytes = 1 << 13;
constexpr int64_t kWindowBytes = 1 << 16;
constexpr int64_t kRecordsPerStep = 64;  // between looks at should_stop

// The headers of a file, wanted at rising offsets.
class HeaderWindow {
 public:
  explicit HeaderWindow(const RandomAccessFile& file)
      : file_(file), bytes_(kWindowBytes) {}

  StatusOr<const char*> At(int64_t offset) {
    if (offset < begin_ || offset + kRecordHeaderBytes > end_) {
      const bool near = offset - last_ <= kNearBytes;
      const int64_t want = near ? kWindowBytes : kRecordHeaderBytes;
      const int64_t n = std::min(want, file_.size() - offset);
      RETURN_IF_ERROR(file_.ReadAt(offset, bytes_.data(), n));
      begin_ = offset;
      end_ = offset + n;
    }
    last_ = offset;
    return static_cast<const char*>(bytes_.data() + (offset - begin_));
  }

 private:
  const RandomAccessFile& file_;
  std::vector<char> bytes_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  int64_t last_ = 0;
};

// What a reader makes of a damaged place: its fault, and where reading goes on:
// at the next whole record or another fault (the file's end without).
struct Beyond {
  RecordFault fault;
  std::optional<RecordFault> given_up;
  int64_t next = 0;
};

// Searches for that place only if `search`.
StatusOr<Beyond> ReadBeyond(const RandomAccessFile& file, int64_t offset,
                            int64_t max_record_bytes, bool search) {
  ASSIGN_OR_RETURN(
      std::unique_ptr<RecordReader> reader,
      RecordReader::Open(file.path(), {.max_record_bytes = max_record_bytes,
                                       .offset = offset}));
  Beyond beyond;
  const auto first = reader->Next();
  if (!reader->fault()) {
    RETURN_IF_ERROR(first.status());
    return Unavailable(
        fmt::format("{}: changed while it was being read", file.path()));
  }
  beyond.fault = *reader->fault();
  if (!search) return beyond;
  const auto second = reader->Next();
  if (!second.ok() && !reader->fault()) return second.status();
  const bool given_up = reader->fault() && reader->fault()->kind ==
                                               RecordFaultKind::kSearchGivenUp;
  if (given_up) beyond.given_up = reader->fault();
  const bool end = given_up || (second.ok() && !*second);
  beyond.next = end ? file.size() : reader->offset();
  return beyond;
}

}  // namespace

StatusOr<RecordIndex> RecordIndex::Open(const std::string& path,
                                        const Options& options,
                                        std::vector<RecordFault>* faults) {
  ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  ASSIGN_OR_RETURN(const bool packed, IsGzipRecordFile(file));
  if (packed) {
    return InvalidArgument(fmt::format(
        "{}: packed by gzip, which is read from its start: there is no index",
        path));
  }
  RecordIndex index(std::move(file));
  RETURN_IF_ERROR(index.Scan(options, faults));
  return index;
}

Status RecordIndex::Scan(const Options& options,
                         std::vector<RecordFault>* faults) {
  max_record_bytes_ = options.max_record_bytes;
  HeaderWindow window(file_);
  const auto add = [&](RecordFault fault) {
    fault.record = size() + fault_count_++;
    faults->push_back(std::move(fault));
  };
  for (int64_t offset = 0, step = 0; offset < file_.size(); ++step) {
    if (step % kRecordsPerStep == 0 && options.should_stop &&
        options.should_stop()) {
      return Unavailable("stopped before the end");
    }
    const int64_t behind = file_.size() - offset - kRecordHeaderBytes;
    if (behind >= kRecordFooterBytes) {
      ASSIGN_OR_RETURN(const char* header, window.At(offset));
      const std::optional<int64_t> length = ParseRecordHeader(header);
      if (length && *length <= max_record_bytes_ &&
          *length <= behind - kRecordFooterBytes) {
        const int64_t bytes = kRecordHeaderBytes + *length + kRecordFooterBytes;
        offsets_.push_back(offset);
        largest_bytes_ = std::max(largest_bytes_, bytes);
        offset += bytes;
        continue;
      }
    }
    ASSIGN_OR_RETURN(Beyond beyond, ReadBeyond(file_, offset, max_record_bytes_,
                                               /*search=*/faults != nullptr));
    if (faults == nullptr) {
      beyond.fault.record = size();
      return beyond.fault.ToStatus();
    }
    add(std::move(beyond.fault));
    if (beyond.given_up) add(*std::move(beyond.given_up));
    if (fault_count_ > options.max_faults) return OkStatus();
    offset = beyond.next;
  }
  return OkStatus();
}

int64_t RecordIndex::offset(int64_t i) const {
  DCHECK(0 <= i && i < size());
  return offsets_[static_cast<size_t>(i)];
}

int64_t RecordIndex::record_bytes(int64_t i) const {
  const int64_t next = i + 1 < size() ? offset(i + 1) : file_bytes();
  return std::min(next - offset(i), largest_bytes_);
}

Status RecordIndex::Fail(int64_t i, RecordFaultKind kind, std::string detail,
                         std::optional<RecordFault>* fault) const {
  RecordFault found{.kind = kind,
                    .path = path(),
                    .record = i,
                    .offset = offset(i),
                    .detail = std::move(detail)};
  Status status = found.ToStatus();
  if (fault != nullptr) *fault = std::move(found);
  return status;
}

StatusOr<int64_t> RecordIndex::ReadLength(
    int64_t i, std::optional<RecordFault>* fault) const {
  char header[kRecordHeaderBytes];
  RETURN_IF_ERROR(file_.ReadAt(offset(i), header, kRecordHeaderBytes));
  const std::optional<int64_t> length = ParseRecordHeader(header);
  if (!length || *length > max_record_bytes_) {
    return Fail(i, RecordFaultKind::kLengthChecksum,
                "the length is another than when the file was opened", fault);
  }
  return *length;
}

Status RecordIndex::ReadData(int64_t i, int64_t length, char* out,
                             std::optional<RecordFault>* fault) const {
  RETURN_IF_ERROR(file_.ReadAt(offset(i) + kRecordHeaderBytes, out,
                               length + kRecordFooterBytes));
  if (RecordFooterMatches({out, static_cast<size_t>(length)}, out + length)) {
    return OkStatus();
  }
  return Fail(i, RecordFaultKind::kDataChecksum,
              fmt::format("its {} bytes of data, or their checksum, are "
                          "damaged",
                          length),
              fault);
}

Status RecordIndex::Read(int64_t i, std::string* data,
                         std::optional<RecordFault>* fault) const {
  CHECK(0 <= i && i < size());
  ASSIGN_OR_RETURN(const int64_t length, ReadLength(i, fault));
  data->resize(static_cast<size_t>(length + kRecordFooterBytes));
  const Status status = ReadData(i, length, data->data(), fault);
  data->resize(static_cast<size_t>(length));
  return status;
}

StatusOr<std::string_view> RecordIndex::Read(
    int64_t i, absl::Span<char> room, std::optional<RecordFault>* fault) const {
  CHECK(0 <= i && i < size());
  ASSIGN_OR_RETURN(const int64_t length, ReadLength(i, fault));
  if (length + kRecordFooterBytes > static_cast<int64_t>(room.size())) {
    return Fail(i, RecordFaultKind::kLengthChecksum,
                "it is longer than when the file was opened", fault);
  }
  RETURN_IF_ERROR(ReadData(i, length, room.data(), fault));
  return std::string_view(room.data(), static_cast<size_t>(length));
}

}  // namespace densenet
