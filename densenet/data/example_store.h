// densenet/data/example_store.h
//
// Labelled images that are read one at a time, by number: in memory, or from
// files as training asks for them. What a batch is made of.
//
// Memory   an index; a reader brings the room for one encoded image
// Errors   DataLoss, InvalidArgument, NotFound, PermissionDenied  this example
//                    is bad, others may not be; the message names its file
//                    (and record)
//          others    the machine's: out of memory, too many open files, ...
// Threads  safe to read

#ifndef DENSENET_DENSENET_DATA_EXAMPLE_STORE_H_
#define DENSENET_DENSENET_DATA_EXAMPLE_STORE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"

namespace densenet {

// What is known of a data set before it is read.
struct ImageDatasetInfo {
  std::string name;
  // 0: every image has a size of its own.
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::vector<std::string> class_names;

  int64_t classes() const { return static_cast<int64_t>(class_names.size()); }
  int64_t image_elems() const { return height * width * channels; }
};

// Valid as long as the store and the scratch it was read into.
struct Example {
  int32_t label = 0;  // in [0, classes)
  // One of the two: (H, W, C) of the store's size, or a JPEG or PNG file.
  const uint8_t* pixels = nullptr;
  std::string_view encoded;
};

class ExampleStore {
 public:
  virtual ~ExampleStore() = default;

  virtual const ImageDatasetInfo& Info() const = 0;
  virtual int64_t count() const = 0;
  // The largest encoded image; 0 when they are held as pixels.
  virtual int64_t max_encoded_bytes() const = 0;
  // `scratch` has max_encoded_bytes(). CHECKs 0 <= i < count().
  virtual StatusOr<Example> Read(int64_t i, absl::Span<char> scratch) const = 0;
  // Of an example alone, without its image where that saves time.
  virtual StatusOr<int32_t> Label(int64_t i) const = 0;
  // Of the names and sizes of files, so that another set is noticed; 0 where
  // the images themselves are compared (by mean and deviation).
  virtual uint32_t Digest() const { return 0; }
  // "train/bees/1.jpg": for people.
  virtual std::string NameOf(int64_t i) const = 0;
};

// An error of Read that is the example's own and not the machine's.
inline bool IsBadExample(const Status& status) {
  return status.code() == StatusCode::kDataLoss ||
         status.code() == StatusCode::kInvalidArgument ||
         status.code() == StatusCode::kNotFound ||
         status.code() == StatusCode::kPermissionDenied;
}

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_EXAMPLE_STORE_H_
