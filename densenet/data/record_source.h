// densenet/data/record_source.h
//
// Labelled images to be written as records, one at a time and by number.
//
// Memory    Read(): the encoded image; 3 bytes a pixel while it is checked
// Errors    Read(): those of ReadFile and CheckImage; IsBadExample
//           (densenet/data/example_store.h) tells those of the image from those
//           of the machine
// Threads   const functions are safe

#ifndef DENSENET_DENSENET_DATA_RECORD_SOURCE_H_
#define DENSENET_DENSENET_DATA_RECORD_SOURCE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"
#include "densenet/data/class_files.h"
#include "densenet/data/dataset.h"

namespace densenet {

struct SourceImage {
  std::string encoded;
  std::string_view format;  // "jpeg" or "png"
  int64_t label = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::string filename;
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  virtual int64_t count() const = 0;
  // About what its records take.
  virtual int64_t bytes() const = 0;
  // CHECKs 0 <= i < count().
  virtual StatusOr<SourceImage> Read(int64_t i) const = 0;
};

// The files as they are, each decoded once to see that it is whole.
class ClassFilesSource final : public RecordSource {
 public:
  explicit ClassFilesSource(ClassFiles files) : files_(std::move(files)) {}
  int64_t count() const override {
    return static_cast<int64_t>(files_.files.size());
  }
  int64_t bytes() const override { return files_.bytes(); }
  StatusOr<SourceImage> Read(int64_t i) const override;

 private:
  ClassFiles files_;
};

// The images of a data set as PNG files. `dataset` must outlive the source.
class DatasetSource final : public RecordSource {
 public:
  DatasetSource(const Dataset* dataset, Split split)
      : dataset_(dataset), split_(split) {}
  int64_t count() const override { return dataset_->count(); }
  int64_t bytes() const override { return dataset_->images.bytes(); }
  StatusOr<SourceImage> Read(int64_t i) const override;

 private:
  const Dataset* dataset_;
  Split split_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_RECORD_SOURCE_H_
