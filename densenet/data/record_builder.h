// densenet/data/record_builder.h
//
// Writes labelled images as a set of TFRecord files: a folder of shards
// "train-00000-of-00004.tfrecord" (and ".gz"), labels.txt with the name of a
// class a line, and the manifest (densenet/data/record_manifest.h).
//
// The folder appears when it is complete: until then its files are in
// "<folder>.tmp-<8 hexadecimal digits>", which an error removes.
//
// Memory    one image a thread, and what checking it takes
// Errors    FailedPrecondition  the folder is there and not empty, or is a file
//                               or a link: told before the work
//           InvalidArgument     more shards than images; a class name with a
//                               line break; an image that cannot be used, with
//                               its file and the reason
//           DataLoss            more than max_bad images cannot be used
//           Unavailable         should_stop said so
//           others              what the system said
// Numerics  bytes depend on images and options but not on threads
// Threads   one at a time; the callbacks come from any thread, one at a time

#ifndef DENSENET_DENSENET_DATA_RECORD_BUILDER_H_
#define DENSENET_DENSENET_DATA_RECORD_BUILDER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "densenet/data/record_manifest.h"
#include "densenet/data/record_source.h"

namespace densenet {

// A part of a set, in the order of `examples` when it is not shuffled.
struct RecordSplit {
  std::string name;  // "train"
  const RecordSource* source = nullptr;
  std::vector<int64_t> examples;
};

struct RecordBuildOptions {
  // Of the first split, the others in proportion; 0: one for every 128 MiB.
  int64_t shards = 0;
  bool gzip = false;
  bool shuffle = true;
  uint64_t seed = 1;
  int threads = 1;
  // Leave images out that cannot be used, up to `max_bad`, instead of stopping
  // at the first.
  bool skip_bad = false;
  int64_t max_bad = std::numeric_limits<int64_t>::max();
  std::function<void(int64_t done, int64_t total)> progress = {};
  std::function<bool()> should_stop = {};
};

struct RecordBuildReport {
  RecordManifest manifest;
  std::vector<Status> skipped;  // in the order of the records
};

StatusOr<RecordBuildReport> BuildRecords(
    absl::Span<const RecordSplit> splits,
    const std::vector<std::string>& class_names, const std::string& folder,
    const RecordBuildOptions& options);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_RECORD_BUILDER_H_
