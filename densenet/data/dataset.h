// densenet/data/dataset.h
//
// Labelled images in memory, and the readers of the data sets that have a
// name: cifar10, cifar100 (binary version), svhn (MATLAB files, train + extra;
// svhn-no-extra: train alone), mnist, fashion-mnist (IDX, plain or gzip).
//
// Shapes    images (count, H, W, C); labels (count)
// Types     images uint8, labels int32 in [0, classes)
// Memory    images and labels from the resource; 3 MiB while reading
// Errors    InvalidArgument  unknown name, no folder given
//           NotFound         a file is missing: names what was looked for,
//                            where, and where it can be had
//           DataLoss         a damaged file or a label out of range: names
//                            file, place and expectation
// Threads   a Dataset that nobody changes is safe to read

#ifndef DENSENET_DENSENET_DATA_DATASET_H_
#define DENSENET_DENSENET_DATA_DATASET_H_

#include <glog/logging.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/memory_resource.h"
#include "core/status.h"
#include "core/tensor.h"
#include "densenet/data/example_store.h"

namespace densenet {

enum class Split { kTrain, kTest };

constexpr std::string_view Name(Split split) {
  return split == Split::kTrain ? "train" : "test";
}

// Move-only; the resource it came from must outlive it.
struct Dataset final : ExampleStore {
  ImageDatasetInfo info;
  Tensor images;  // uint8 (count, H, W, C)
  Tensor labels;  // int32 (count)

  // Uninitialized room for `count` examples.
  static StatusOr<Dataset> Create(ImageDatasetInfo info, int64_t count,
                                  MemoryResource& resource);

  const ImageDatasetInfo& Info() const override { return info; }
  int64_t count() const override { return labels.elems(); }
  int64_t max_encoded_bytes() const override { return 0; }
  StatusOr<Example> Read(int64_t i, absl::Span<char>) const override {
    CHECK(0 <= i && i < count());
    return Example{.label = label(i), .pixels = image(i), .encoded = {}};
  }
  StatusOr<int32_t> Label(int64_t i) const override { return label(i); }
  std::string NameOf(int64_t i) const override {
    return info.name + " image " + std::to_string(i);
  }
  // (H, W, C)
  const uint8_t* image(int64_t i) const {
    return images.data<uint8_t>() + i * info.image_elems();
  }
  int32_t label(int64_t i) const { return labels.data<int32_t>()[i]; }
};

// "cifar10", "cifar100", "svhn", "svhn-no-extra", "mnist", "fashion-mnist".
std::vector<std::string> DatasetNames();

// Class names of cifar100 are its numbers here; LoadDataset takes them from
// fine_label_names.txt where the folder has it.
// Errors  InvalidArgument  unknown name: lists the known ones
StatusOr<ImageDatasetInfo> GetDatasetInfo(std::string_view name);

// Where the system keeps a data set ("" when nowhere): fashion-mnist of the
// Debian package.
std::string DefaultDataFolder(std::string_view name);

// Reads one split. `folder` holds the files, or the folder that their archive
// unpacks to; "" means DefaultDataFolder(name).
StatusOr<Dataset> LoadDataset(std::string_view name, const std::string& folder,
                              Split split, MemoryResource& resource);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_DATASET_H_
