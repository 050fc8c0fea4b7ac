// densenet/data/class_folder.h
//
// A folder of class folders of JPEG and PNG files, as people keep photographs:
//
//   DIR/train/<class>/...     trained on; its class folders are the classes,
//                             in alphabetical order
//   DIR/val/<class>/...       evaluated on; also validation/, valid/, test/
//
// Which files are images, and what is passed over, says
// densenet/data/class_files.h.
//
// Memory   the names of the files and 16 bytes for each
// Errors   InvalidArgument     no class folders, a class in val/ that train/
//                              does not have, no images
//          FailedPrecondition  links that lead in circles
//          NotFound            no folder, no split
//          others              what the system said
// Threads  safe to read

#ifndef DENSENET_DENSENET_DATA_CLASS_FOLDER_H_
#define DENSENET_DENSENET_DATA_CLASS_FOLDER_H_

#include <memory>
#include <string>
#include <vector>

#include "densenet/data/class_files.h"
#include "densenet/data/dataset.h"
#include "densenet/data/example_store.h"

namespace densenet {

// The names of the class folders of the training split, sorted.
StatusOr<std::vector<std::string>> ClassFolderNames(const std::string& folder);

class ClassFolder final : public ExampleStore {
 public:
  static StatusOr<std::unique_ptr<ClassFolder>> Open(const std::string& folder,
                                                     Split split);

  // Files that were passed over.
  const OtherFiles& others() const { return others_; }

  const ImageDatasetInfo& Info() const override { return info_; }
  int64_t count() const override {
    return static_cast<int64_t>(entries_.size());
  }
  int64_t max_encoded_bytes() const override { return max_bytes_; }
  StatusOr<Example> Read(int64_t i, absl::Span<char> scratch) const override;
  StatusOr<int32_t> Label(int64_t i) const override;
  uint32_t Digest() const override { return digest_; }
  std::string NameOf(int64_t i) const override;

 private:
  struct Entry {
    int64_t name = 0;  // where it begins in names_
    int32_t name_bytes = 0;
    int32_t label = 0;
  };

  Status AddClass(int32_t label);

  std::string split_folder_;
  ImageDatasetInfo info_;
  std::string names_;  // of all files, one after the other
  std::vector<Entry> entries_;
  int64_t max_bytes_ = 1;  // 0 would say: not encoded
  uint32_t digest_ = 0;
  OtherFiles others_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_CLASS_FOLDER_H_
