// densenet/data/record_check.h
//
// Whether TFRecord files are whole: both checksums of every record, on request
// what the records hold, and the manifest where there is one. And what is whole
// of a damaged file, as a new one.
//
// Memory    one record a thread (core/io/record_reader.h)
// Errors    those of opening a file that is no fault of the set; Unavailable
//           when should_stop says so
// Numerics  reports do not depend on the number of threads
// Threads   one at a time; the callbacks come from any thread, one at a time

#ifndef DENSENET_DENSENET_DATA_RECORD_CHECK_H_
#define DENSENET_DENSENET_DATA_RECORD_CHECK_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/record_format.h"
#include "core/status.h"
#include "densenet/data/record_manifest.h"
#include "densenet/data/tf_example.h"

namespace densenet {

// Of a record: `kind` is that of core/io/record_format.h, or "example",
// "image", "label". Of a file: "missing file", "extra file", "unreadable file",
// "missing records", "extra records", "other bytes".
struct RecordSetFault {
  std::string file;
  std::optional<int64_t> record;
  std::optional<int64_t> offset;
  std::string kind;
  std::string detail;

  std::string ToString() const;
};

struct LabelRange {
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = std::numeric_limits<int64_t>::min();

  bool empty() const { return min > max; }
  void Add(const LabelRange& other);
};

// What to say of labels that all are >= 1; "" when that is not so.
std::string LabelsFromOneNote(const LabelRange& labels,
                              const ExampleSchema& schema);

struct RecordFileReport {
  std::string path;
  int64_t records = 0;  // whole ones
  int64_t bytes = 0;    // of the file
  std::vector<RecordSetFault> faults;
  int64_t fault_count = 0;  // more than `faults` when there are very many
  LabelRange labels;        // of the images, if they were looked at
};

struct RecordCheckOptions {
  int threads = 1;
  // Look at every record as an image with a label, and decode it.
  std::optional<ExampleSchema> images = std::nullopt;
  // Labels are 0 to classes - 1; 0: any are.
  int64_t classes = 0;
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress = {};
  std::function<bool()> should_stop = {};
};

// A report for every file of `set`, then one for each of its extra files.
StatusOr<std::vector<RecordFileReport>> CheckRecordSet(
    const RecordSet& set, const RecordCheckOptions& options);

// Records of a file. Of a plain one only the lengths are looked at.
// Errors  DataLoss  the first fault
StatusOr<int64_t> CountRecords(const std::string& path,
                               const std::function<bool()>& should_stop = {});

struct RecordRepairReport {
  int64_t records = 0;        // written
  int64_t dropped_bytes = 0;  // of what the file holds, unpacked
  std::vector<RecordFault> faults;
  int64_t fault_count = 0;  // more than `faults` when there are very many
};

// Copies the whole records of `from` to `to`, packed by gzip if `from` is.
// Errors  InvalidArgument  `to` is `from`
StatusOr<RecordRepairReport> RepairRecordFile(
    const std::string& from, const std::string& to,
    const std::function<bool()>& should_stop);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_RECORD_CHECK_H_
