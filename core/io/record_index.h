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
#include <utility>
#include <vector>

#include "core/io/file.h"
#include "core/io/record_format.h"
#include "core/status.h"

namespace densenet {

class RecordIndex {
 public:
  struct Options {
    int64_t max_record_bytes = kDefaultMaxRecordBytes;
    // How many to append to `faults`; fault_count() counts all.
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
  // Faults of the file's structure.
  int64_t fault_count() const { return fault_count_; }
  // The byte at which the header of record i begins.
  // CHECKs 0 <= i < size() in debug builds.
  int64_t offset(int64_t i) const;

  // The data of record i, which is its number among those in the index.
  // CHECKs 0 <= i < size().
  // Errors  DataLoss  with `fault`, if given, filled: the data are damaged
  Status Read(int64_t i, std::string* data,
              std::optional<RecordFault>* fault = nullptr) const;

 private:
  explicit RecordIndex(RandomAccessFile file) : file_(std::move(file)) {}
  Status Scan(const Options& options, std::vector<RecordFault>* faults);

  RandomAccessFile file_;
  int64_t max_record_bytes_ = 0;
  std::vector<int64_t> offsets_;
  int64_t fault_count_ = 0;
};

}  // namespace densenet

#endif  // DENSENET_CORE_IO_RECORD_INDEX_H_
