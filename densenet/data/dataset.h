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

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/memory_resource.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

enum class Split { kTrain, kTest };

constexpr std::string_view Name(Split split) {
  return split == Split::kTrain ? "train" : "test";
}

// What is known of a data set before it is read.
struct ImageDatasetInfo {
  std::string name;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::vector<std::string> class_names;

  int64_t classes() const { return static_cast<int64_t>(class_names.size()); }
  int64_t image_elems() const { return height * width * channels; }
};

// Move-only; the resource it came from must outlive it.
struct Dataset {
  ImageDatasetInfo info;
  Tensor images;  // uint8 (count, H, W, C)
  Tensor labels;  // int32 (count)

  // Uninitialized room for `count` examples.
  static StatusOr<Dataset> Create(ImageDatasetInfo info, int64_t count,
                                  MemoryResource& resource);

  int64_t count() const { return labels.elems(); }
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
