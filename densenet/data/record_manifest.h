// densenet/data/record_manifest.h
//
// The manifest of a set of TFRecord files: manifest.json beside them, a JSON
// object
//
//   {"format": "densenet-records-1",
//    "class_names": ["ants", "bees"],
//    "image_key": "image/encoded", "label_key": "image/class/label",
//    "label_offset": 0,
//    "shards": [{"file": "train-00000-of-00001.tfrecord", "split": "train",
//                "records": 244, "bytes": 28467310, "crc32c": "5d0a1c3f"}]}
//
// A file that was cut between two records, or is missing, cannot be told
// without it.
//
// Errors    NotFound         no such file
//           InvalidArgument  no manifest: names the file and the key
// Threads   safe

#ifndef DENSENET_DENSENET_DATA_RECORD_MANIFEST_H_
#define DENSENET_DENSENET_DATA_RECORD_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "densenet/data/tf_example.h"

namespace densenet {

inline constexpr std::string_view kRecordManifestName = "manifest.json";
// A name a line (densenet/data/class_names.h); the first is label 0.
inline constexpr std::string_view kRecordLabelsName = "labels.txt";

struct RecordShard {
  std::string file;   // in the manifest's folder
  std::string split;  // "train", "validation", "test", ...
  int64_t records = 0;
  int64_t bytes = 0;   // of the file
  std::string crc32c;  // of the file: Crc32cHex

  friend bool operator==(const RecordShard&, const RecordShard&) = default;
};

struct RecordManifest {
  std::vector<std::string> class_names;  // may be empty: not known
  ExampleSchema schema;
  std::vector<RecordShard> shards;  // in the order in which they are read

  int64_t records() const;
  const RecordShard* Find(std::string_view file) const;

  friend bool operator==(const RecordManifest&,
                         const RecordManifest&) = default;
};

StatusOr<RecordManifest> ReadRecordManifest(const std::string& path);

Status WriteRecordManifest(const std::string& path,
                           const RecordManifest& manifest);

// The record files that a user means, and what is known of them.
struct RecordSet {
  std::vector<std::string> paths;
  std::string manifest_path;  // "" without
  std::optional<RecordManifest> manifest;
  // Files that the folder has besides those of its manifest.
  std::vector<std::string> extra_paths;
};

// Of a folder: the files of its manifest, in that order; without one those
// whose names have ".tfrecord" in them or end in "-00000-of-00001" (and
// ".gz"), sorted. Of a file: itself, and a manifest beside it that names it.
// With `manifest_path`, that manifest alone, wherever it is: the files it names
// are looked for at `path`, and what lies beside them is not read.
// Errors  NotFound         no such file or folder, or no record files in it
//         InvalidArgument  a manifest that cannot be read; one given by
//                          `manifest_path` that does not name the file `path`
StatusOr<RecordSet> FindRecordSet(
    const std::string& path,
    const std::optional<std::string>& manifest_path = std::nullopt);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_RECORD_MANIFEST_H_
