// densenet/data/dataset_report.h
//
// Holds a data set on disk to what its publisher says: sizes and digests of
// what its files hold (unpacked, so that files compressed anew are the same),
// numbers of images, images of each class; and measures each channel.
//
// Memory   a split at a time, from the resource
// Errors   InvalidArgument  a name without an entry in the catalog, no folder
//          What is wrong with the data is no error of the function: it is in
//          the report.
// Threads  safe

#ifndef DENSENET_DENSENET_DATA_DATASET_REPORT_H_
#define DENSENET_DENSENET_DATA_DATASET_REPORT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/memory_resource.h"
#include "core/status.h"
#include "densenet/data/dataset.h"
#include "densenet/data/dataset_catalog.h"
#include "densenet/data/normalization.h"

namespace densenet {

struct FileReport {
  std::string path;
  int64_t bytes = 0;  // unpacked
  std::string digest;
  PublishedFile published;
  bool ok = false;
};

struct SplitReport {
  Split split = Split::kTrain;
  int64_t images = 0;
  int64_t published_images = 0;
  std::vector<int64_t> of_class;
  Normalization channels;
};

struct DatasetReport {
  ImageDatasetInfo info;
  std::string folder;
  std::vector<FileReport> files;
  std::vector<SplitReport> splits;  // those that can be read
  std::vector<std::string> faults;

  bool ok() const { return faults.empty(); }
};

// `folder` "": where the system keeps the data set. `progress` hears what is
// being looked at.
StatusOr<DatasetReport> VerifyDataset(
    std::string_view name, const std::string& folder, MemoryResource& resource,
    const std::function<void(std::string_view)>& progress = {});

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_DATASET_REPORT_H_
