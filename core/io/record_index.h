// core/io/record_index.h
//
// Where every record of a plain TFRecord file is (core/io/record_format.h), and
// any of them: the checksums of the lengths are compared when the file is
// opened, that of a record's data when it is read.
//
// Memory    8 bytes a record
// Errors    NotFound, ...    from opening the file
//           InvalidArgument  a file packed by gzip, a folder, a pipe
//           DataLoss         a fault (RecordFault::ToString)
// Threads   const functions are safe

#ifndef DENSENET_CORE_IO_RECORD_INDEX_H_
#define DENSENET_CORE_IO_RECORD_INDEX_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/io/file.h"
#include "core/io/record_format.h"
#include "core/status.h"

namespace densenet {

class RecordIndex {
 public:
  struct Options {
    int64_t max_record_bytes = kDefaultMaxRecordBytes;
    // One more ends the scan: the index lacks what follows, and fault_count()
    // is over max_faults.
    int64_t max_faults = std::numeric_limits<int64_t>::max();
    // Asked now and then.
    std::function<bool()> should_stop = {};
  };
  // With `faults` those of the file's structure are appended there, and the
  // index has what a RecordReader finds beyond them; without, the first one is
  // the error.
  // Errors  Unavailable  should_stop said so
  static StatusOr<RecordIndex> Open(const std::string& path,
                                    const Options& options,
                                    std::vector<RecordFault>* faults = nullptr);
  static StatusOr<RecordIndex> Open(const std::string& path) {
    return Open(path, Options());
  }

  const std::string& path() const { return file_.path(); }
  int64_t file_bytes() const { return file_.size(); }
  // Records that can be read.
  int64_t size() const { return static_cast<int64_t>(offsets_.size()); }
  // Faults of the file's structure that were found.
  int64_t fault_count() const { return fault_count_; }
  // The byte at which the header of record i begins.
  // CHECKs 0 <= i < size() in debug builds.
  int64_t offset(int64_t i) const;

  // The data of record i, which is its number among those in the index.
  // CHECKs 0 <= i < size().
  // Errors  DataLoss  with `fault`, if given, filled: the data are damaged
  Status Read(int64_t i, std::string* data,
              std::optional<RecordFault>* fault = nullptr) const;
  // The same in `room`, which must have what record_bytes(i) says.
  StatusOr<std::string_view> Read(
      int64_t i, absl::Span<char> room,
      std::optional<RecordFault>* fault = nullptr) const;
  // With header and footer, at most: up to the next record or the file's end,
  // but never more than the largest record of the index, whatever damage lies
  // in between.
  int64_t record_bytes(int64_t i) const;

 private:
  explicit RecordIndex(RandomAccessFile file) : file_(std::move(file)) {}
  Status Scan(const Options& options, std::vector<RecordFault>* faults);
  Status Fail(int64_t i, RecordFaultKind kind, std::string detail,
              std::optional<RecordFault>* fault) const;
  StatusOr<int64_t> ReadLength(int64_t i,
                               std::optional<RecordFault>* fault) const;
  // The data and their checksum into `out`.
  Status ReadData(int64_t i, int64_t length, char* out,
                  std::optional<RecordFault>* fault) const;

  RandomAccessFile file_;
  int64_t max_record_bytes_ = 0;
  std::vector<int64_t> offsets_;
  int64_t largest_bytes_ = 0;  // of a record
  int64_t fault_count_ = 0;
};

}  // namespace densenet

#endif  // DENSENET_CORE_IO_RECORD_INDEX_H_
