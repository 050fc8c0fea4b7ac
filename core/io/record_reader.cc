#include "core/io/record_reader.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace densenet {
namespace {

// Fits the second-level cache, so that checksums read what was just copied.
constexpr int64_t kBufferBytes = int64_t{1} << 19;

// Cheap tests before ParseRecordHeader: most lengths are impossible, and the
// usual junk is zeros, where every byte begins the length of an empty record.
bool MayBeHeader(const char* header, int64_t max, const std::string& empty) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t length;
  std::memcpy(&length, header, sizeof(length));
  if (length == 0) {
    return std::memcmp(header, empty.data(), kRecordHeaderBytes) == 0;
  }
  return length <= static_cast<uint64_t>(max);
}

// A fault names the file itself.
std::string WithoutPath(std::string_view message, const std::string& path) {
  const std::string prefix = fmt::format("read {}: ", path);
  if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
  return std::string(message);
}

}  // namespace

RecordReader::RecordReader(std::unique_ptr<GzipReader> stream,
                           const Options& options)
    : stream_(std::move(stream)),
      options_(options),
      buffer_(kBufferBytes),
      buffer_offset_(options.offset) {}

StatusOr<std::unique_ptr<RecordReader>> RecordReader::Open(
    const std::string& path, const Options& options) {
  CHECK(options.max_record_bytes >= 0 && options.max_searched_bytes >= 0 &&
        options.offset >= 0);
  ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  ASSIGN_OR_RETURN(const bool packed, IsGzipRecordFile(file));
  if (options.offset > 0 && (packed || options.offset > file.size())) {
    return InvalidArgument(fmt::format(
        "{}: cannot begin at byte {} of a file of {} bytes{}", path,
        options.offset, file.size(),
        packed ? " packed by gzip, which is read from its start" : ""));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<GzipReader> stream,
                   GzipReader::Open(std::move(file),
                                    packed ? GzipReader::Packing::kGzip
                                           : GzipReader::Packing::kPlain,
                                    options.offset));
  return std::unique_ptr<RecordReader>(
      new RecordReader(std::move(stream), options));
}

int64_t RecordReader::left() const {
  return compressed() ? std::numeric_limits<int64_t>::max()
                      : stream_->file_bytes() - cursor();
}

Status RecordReader::Fill(int64_t bytes) {
  while (available() < bytes && !stream_ended_) {
    if (at_ > 0 && at_ + bytes > buffer_bytes()) {
      std::memmove(buffer_.data(), buffer_.data() + at_,
                   static_cast<size_t>(available()));
      buffer_offset_ += at_;
      end_ -= at_;
      at_ = 0;
    }
    // Doubled only when full: a length that promises more than comes does not
    // take its memory.
    if (end_ == buffer_bytes()) buffer_.resize(buffer_.size() * 2);
    const StatusOr<int64_t> read =
        stream_->ReadUntilDamage(buffer_.data() + end_, buffer_bytes() - end_);
    if (!read.ok()) {
      if (read.status().code() != StatusCode::kDataLoss || !compressed()) {
        return read.status();
      }
      stream_ended_ = true;
      stream_fault_ = WithoutPath(StdView(read.status().message()), path());
      break;
    }
    stream_ended_ = *read == 0;
    end_ += *read;
  }
  return OkStatus();
}

RecordReader::Found RecordReader::Cut(RecordFaultKind kind,
                                      std::string detail) const {
  if (!stream_fault_.empty()) {
    return {.fault = RecordFaultKind::kGzip, .detail = stream_fault_};
  }
  return {.fault = kind, .detail = std::move(detail)};
}

StatusOr<RecordReader::Found> RecordReader::Look() {
  RETURN_IF_ERROR(Fill(kRecordHeaderBytes));
  if (available() == 0 && stream_fault_.empty()) return Found{.end = true};
  if (available() < kRecordHeaderBytes) {
    return Cut(RecordFaultKind::kCutHeader,
               fmt::format("the file ends after {} of the {} header bytes",
                           available(), kRecordHeaderBytes));
  }
  const std::optional<int64_t> length = ParseRecordHeader(buffer_.data() + at_);
  if (!length) {
    return Found{.fault = RecordFaultKind::kLengthChecksum,
                 .detail = "the length is damaged, or this is no record"};
  }
  const int64_t behind = left() - kRecordHeaderBytes;
  if (behind - kRecordFooterBytes < *length) {
    return Found{.fault = RecordFaultKind::kCutData,
                 .detail = fmt::format(
                     "{} bytes of data and {} of checksum are promised, the "
                     "file has {} more",
                     *length, kRecordFooterBytes, behind)};
  }
  if (*length > options_.max_record_bytes) {
    return Found{.fault = RecordFaultKind::kTooLong,
                 .detail = fmt::format("{} bytes of data, at most {} are read",
                                       *length, options_.max_record_bytes)};
  }
  return LookAtData(*length);
}

StatusOr<RecordReader::Found> RecordReader::LookAtData(int64_t length) {
  const int64_t whole = kRecordHeaderBytes + length + kRecordFooterBytes;
  RETURN_IF_ERROR(Fill(whole));
  if (available() < whole) {
    return Cut(
        RecordFaultKind::kCutData,
        fmt::format("{} bytes of data and {} of checksum are promised, the "
                    "file has {} more",
                    length, kRecordFooterBytes,
                    available() - kRecordHeaderBytes));
  }
  const char* data = buffer_.data() + at_ + kRecordHeaderBytes;
  const std::string_view text(data, static_cast<size_t>(length));
  if (!RecordFooterMatches(text, data + length)) {
    return Found{.fault = RecordFaultKind::kDataChecksum,
                 .detail = fmt::format("its {} bytes of data, or their "
                                       "checksum, are damaged",
                                       length),
                 .record_bytes = whole};
  }
  return Found{.data = text, .record_bytes = whole};
}

StatusOr<std::optional<std::string_view>> RecordReader::Next() {
  RETURN_IF_ERROR(failure_);
  StatusOr<std::optional<std::string_view>> next = Advance();
  if (!next.ok() && !fault_) failure_ = next.status();
  return next;
}

StatusOr<std::optional<std::string_view>> RecordReader::Advance() {
  if (fault_) {
    const RecordFaultKind kind = fault_->kind;
    fault_.reset();
    RETURN_IF_ERROR(Recover(kind));
  } else {
    at_ += pending_bytes_;
  }
  pending_bytes_ = 0;
  if (given_up_at_) {
    record_offset_ = *std::exchange(given_up_at_, std::nullopt);
    return Fail(RecordFaultKind::kSearchGivenUp,
                fmt::format("more than {} bytes here look like records and are "
                            "none; what follows was not searched",
                            options_.max_searched_bytes));
  }
  ASSIGN_OR_RETURN(const Found found, Look());
  if (found.end) return std::optional<std::string_view>();
  record_offset_ = cursor();
  pending_bytes_ = found.record_bytes;
  if (found.fault == RecordFaultKind::kGzip) stream_fault_.clear();
  if (found.fault) return Fail(*found.fault, found.detail);
  ++seen_;
  return std::optional<std::string_view>(found.data);
}

Status RecordReader::Fail(RecordFaultKind kind, std::string detail) {
  ++seen_;
  fault_ = RecordFault{.kind = kind,
                       .path = path(),
                       .record = record(),
                       .offset = offset(),
                       .detail = std::move(detail)};
  return fault_->ToStatus();
}

void RecordReader::Drop(int64_t bytes) {
  CHECK_LE(bytes, available());
  at_ += bytes;
  dropped_bytes_ += bytes;
}

Status RecordReader::Recover(RecordFaultKind kind) {
  if (kind == RecordFaultKind::kSearchGivenUp) return OkStatus();  // the end
  if (kind == RecordFaultKind::kDataChecksum) {
    // Whether the length can be trusted: is what follows a header, or too
    // little for one?
    RETURN_IF_ERROR(Fill(pending_bytes_ + kRecordHeaderBytes));
    const char* behind = buffer_.data() + at_ + pending_bytes_;
    if (available() < pending_bytes_ + kRecordHeaderBytes ||
        ParseRecordHeader(behind)) {
      Drop(pending_bytes_);
      return OkStatus();
    }
    searched_bytes_ += pending_bytes_;  // what it promised is searched again
  }
  // A header that was read has no other inside it.
  const bool no_header = kind == RecordFaultKind::kLengthChecksum ||
                         kind == RecordFaultKind::kCutHeader ||
                         kind == RecordFaultKind::kGzip;
  Drop(std::min(available(), no_header ? int64_t{1} : kRecordHeaderBytes));
  return Search();
}

// Moves to the next header within what was read ahead; its length, or -1 with
// the cursor behind the last place that could be told.
int64_t RecordReader::SearchHeader() {
  const int64_t room = left() - kRecordHeaderBytes - kRecordFooterBytes;
  const int64_t max = std::clamp(room, int64_t{0}, options_.max_record_bytes);
  const std::string empty = RecordHeader("");
  const char* const begin = buffer_.data() + at_;
  const char* const end = buffer_.data() + end_ - kRecordHeaderBytes + 1;
  for (const char* p = begin; p < end; ++p) {
    if (!MayBeHeader(p, max, empty)) continue;
    if (const auto length = ParseRecordHeader(p)) {
      Drop(p - begin);
      return *length;
    }
  }
  Drop(end - begin);
  return -1;
}

Status RecordReader::Search() {
  for (;;) {
    RETURN_IF_ERROR(Fill(kRecordHeaderBytes));
    if (available() < kRecordHeaderBytes) {
      Drop(available());
      return OkStatus();
    }
    if (searched_bytes_ > options_.max_searched_bytes) return GiveUp();
    const int64_t length = SearchHeader();
    if (length < 0) continue;
    if (length <= left() - kRecordHeaderBytes - kRecordFooterBytes) {
      ASSIGN_OR_RETURN(const Found found, LookAtData(length));
      if (!found.fault) return OkStatus();
      searched_bytes_ += std::min(length, available());
    }
    Drop(kRecordHeaderBytes);
  }
}

Status RecordReader::GiveUp() {
  given_up_at_ = cursor();
  do {
    Drop(available());
    RETURN_IF_ERROR(Fill(1));
  } while (available() > 0);
  return OkStatus();
}

}  // namespace densenet
