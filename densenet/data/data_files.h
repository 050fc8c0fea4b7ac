// densenet/data/data_files.h
//
// Where the files of a data set are. For densenet/data only: readers ask
// densenet/data/dataset_catalog.h.

#ifndef DENSENET_DENSENET_DATA_DATA_FILES_H_
#define DENSENET_DENSENET_DATA_DATA_FILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "densenet/data/dataset_catalog.h"

namespace densenet {

struct DataFilesQuery {
  std::string_view dataset;
  std::string folder;
  // Folders below `folder` where an archive puts the files.
  std::vector<std::string> subfolders;
  std::vector<FileNames> files;
  // How a user gets them, for the error.
  std::string source;
};

// The path of each of `files`, all in `folder` or all in the same subfolder.
// Errors  NotFound  lists the names that were looked for, the folder, which
//                   of them is missing, and the source
StatusOr<std::vector<std::string>> FindDataFiles(const DataFilesQuery& query);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_DATA_FILES_H_
