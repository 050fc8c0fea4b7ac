// densenet/data/record_store.h
//
// A set of TFRecord files of images (densenet/data/tf_example.h), any record of
// which is read when it is asked for:
//
//   DIR/manifest.json     if there is one (densenet/data/record_manifest.h), it
//                         says which files are of which split, how many
//                         records each has, the classes and the schema
//   DIR/train*, DIR/val*, ... or DIR/train/, DIR/val/, ...
//                         else: the splits by the names of files or folders
//   DIR/labels.txt        the classes, one a line, if no manifest names them
//
// Splits to evaluate on are val*, valid*, validation* and test*, the first that
// there is. Where nothing names the classes, the labels of the training split
// are looked through once, and their numbers are the names.
//
// Files packed by gzip have no index. They are unpacked, from the start, into
// files without a name in the folder for large temporary files ($TMPDIR or
// /var/tmp: /tmp may be memory), which go when the store does, however the
// process ends.
//
// A record of more than 257 MiB is damage: images have 256 MiB at most.
//
// Memory   8 bytes a record
// Errors   NotFound         no folder, no split
//          InvalidArgument  a label that is no class: names --label-offset
//          DataLoss         damaged files; fewer records than the manifest says
//          others           what the system said
// Threads  safe to read

#ifndef DENSENET_DENSENET_DATA_RECORD_STORE_H_
#define DENSENET_DENSENET_DATA_RECORD_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/io/record_index.h"
#include "densenet/data/dataset.h"
#include "densenet/data/example_store.h"
#include "densenet/data/tf_example.h"

namespace densenet {

struct RecordQuery {
  std::string folder;
  // Those of the manifest, or the usual ones, where nothing is given.
  std::optional<std::string> image_key;
  std::optional<std::string> label_key;
  std::optional<int64_t> label_offset;
  // Damaged places of files and missing records that are passed over with a
  // note; without, the first one is an error.
  std::optional<int64_t> max_faults;
};

// The classes of a set, without its images.
StatusOr<std::vector<std::string>> RecordClassNames(const RecordQuery& query);

class RecordStore final : public ExampleStore {
 public:
  static StatusOr<std::unique_ptr<RecordStore>> Open(
      const RecordQuery& query, Split split, std::vector<std::string>* notes);

  const ImageDatasetInfo& Info() const override { return info_; }
  int64_t count() const override { return count_; }
  int64_t max_encoded_bytes() const override { return max_bytes_; }
  StatusOr<Example> Read(int64_t i, absl::Span<char> scratch) const override;
  StatusOr<int32_t> Label(int64_t i) const override;
  uint32_t Digest() const override { return digest_; }
  std::string NameOf(int64_t i) const override;

 private:
  struct Shard {
    std::string path;  // as the user knows it
    RecordIndex index;
    int64_t first = 0;  // number of its first record
  };

  Status AddShard(const std::string& path, std::optional<int64_t> records,
                  std::optional<int64_t> max_faults,
                  std::vector<std::string>* notes);
  const Shard& ShardOf(int64_t i) const;
  // In `room` for the whole record.
  StatusOr<LabelledImage> ReadImage(int64_t i, absl::Span<char> room) const;

  ImageDatasetInfo info_;
  ExampleSchema schema_;
  std::vector<Shard> shards_;
  int64_t count_ = 0;
  int64_t max_bytes_ = 0;
  int64_t faults_ = 0;
  uint32_t digest_ = 0;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_RECORD_STORE_H_
