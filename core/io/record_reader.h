// core/io/record_reader.h
//
// Reads a TFRecord file (core/io/record_format.h), plain or packed by gzip,
// from its start to its end; both checksums of every record are compared.
//
//   for (;;) {
//     ASSIGN_OR_RETURN(std::optional<std::string_view> record, reader->Next());
//     if (!record) break;
//     ...
//   }
//
// After a fault Next() goes on with the next whole record: the one after a
// damaged data, else the first that a search byte by byte finds. So a caller
// who returns on the first error stops there, and one who calls again skips.
//
// A search compares the data of what looks like a header. Where such data turn
// out damaged they are charged to Options::max_searched_bytes of the file; past
// that the rest of the file is passed over, which is a fault of its own,
// "search given up".
//
// Memory    1 MiB, more only for a longer record: never more than the file
//           has and twice Options::max_record_bytes, whatever a damaged
//           length says
// Errors    NotFound, ...    from opening the file
//           InvalidArgument  a folder or a pipe
//           DataLoss         a fault: fault() has its kind, record and byte
//           others           the system cannot read; fault() is empty, and
//                            there is no going on
// Threads   one at a time

#ifndef DENSENET_CORE_IO_RECORD_READER_H_
#define DENSENET_CORE_IO_RECORD_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/gzip_reader.h"
#include "core/io/record_format.h"
#include "core/status.h"

namespace densenet {

class RecordReader {
 public:
  struct Options {
    int64_t max_record_bytes = kDefaultMaxRecordBytes;
    // A file made to look like nothing but headers could keep a search busy
    // for as long as the square of its size.
    int64_t max_searched_bytes = int64_t{1} << 30;
    // Where to begin, a record's first byte. Of a plain file alone.
    int64_t offset = 0;
  };
  static StatusOr<std::unique_ptr<RecordReader>> Open(const std::string& path,
                                                      const Options& options);
  static StatusOr<std::unique_ptr<RecordReader>> Open(const std::string& path) {
    return Open(path, Options());
  }

  const std::string& path() const { return stream_->path(); }
  bool compressed() const { return stream_->compressed(); }

  // The next record, valid until the next call; nothing at the end.
  StatusOr<std::optional<std::string_view>> Next();

  // Of the last call of Next().
  const std::optional<RecordFault>& fault() const { return fault_; }
  // The number of the record that Next() handed out, and the byte at which its
  // header begins (of what a gzip file unpacks to).
  int64_t record() const { return seen_ - 1; }
  int64_t offset() const { return record_offset_; }
  // Bytes that Next() passed over because of faults, so far.
  int64_t dropped_bytes() const { return dropped_bytes_; }

 private:
  // What stands at the cursor.
  struct Found {
    std::optional<RecordFaultKind> fault = std::nullopt;
    std::string detail = "";
    std::string_view data = {};
    int64_t record_bytes = 0;  // with header and footer; 0: unknown
    bool end = false;
  };

  RecordReader(std::unique_ptr<GzipReader> stream, const Options& options);

  int64_t cursor() const { return buffer_offset_ + at_; }
  int64_t available() const { return end_ - at_; }
  int64_t buffer_bytes() const { return static_cast<int64_t>(buffer_.size()); }
  // Bytes from the cursor to the end of the file, if that is known.
  int64_t left() const;
  // Tries to have `bytes` at the cursor; fewer only at the end, or before a
  // damage of the gzip stream.
  Status Fill(int64_t bytes);
  StatusOr<Found> Look();
  StatusOr<Found> LookAtData(int64_t length);
  Found Cut(RecordFaultKind kind, std::string detail) const;
  StatusOr<std::optional<std::string_view>> Advance();
  // Of what begins at record_offset_.
  Status Fail(RecordFaultKind kind, std::string detail);
  void Drop(int64_t bytes);
  // From a fault to where Next() goes on.
  Status Recover(RecordFaultKind kind);
  int64_t SearchHeader();
  Status Search();
  // Drops the rest of the file; the fault that says so stands where it began.
  Status GiveUp();

  std::unique_ptr<GzipReader> stream_;
  const Options options_;
  // What was read ahead is [at_, end_) of the buffer; at_ is the cursor.
  std::vector<char> buffer_;
  int64_t at_ = 0;
  int64_t end_ = 0;
  int64_t buffer_offset_;  // of buffer_[0] in the stream
  bool stream_ended_ = false;
  // The damage that ended the gzip stream, until it is reported.
  std::string stream_fault_;
  // Of the last record, or fault, still at the cursor.
  int64_t pending_bytes_ = 0;
  int64_t seen_ = 0;  // records and faults
  int64_t record_offset_ = 0;
  int64_t dropped_bytes_ = 0;
  int64_t searched_bytes_ = 0;  // of candidates that were no records
  std::optional<int64_t> given_up_at_;
  std::optional<RecordFault> fault_;
  Status failure_;  // of the system, for good
};

}  // namespace densenet

#endif  // DENSENET_CORE_IO_RECORD_READER_H_
