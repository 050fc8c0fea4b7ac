// densenet/data/data_source.h
//
// The data sets that can be trained on, under one name each: those in memory
// (densenet/data/dataset.h), "folder" (densenet/data/class_folder.h).
//
// Errors   InvalidArgument  unknown name: lists the known ones
//          others           those of the readers

#ifndef DENSENET_DENSENET_DATA_DATA_SOURCE_H_
#define DENSENET_DENSENET_DATA_DATA_SOURCE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/memory_resource.h"
#include "core/status.h"
#include "densenet/data/dataset.h"
#include "densenet/data/example_store.h"

namespace densenet {

struct DataQuery {
  std::string dataset;
  std::string folder;  // "": where the system keeps it
};

std::vector<std::string> DataSourceNames();

// Errors  InvalidArgument  unknown name: lists the known ones
Status CheckDataSourceName(std::string_view dataset);

// Its images are files of any size, read as they are needed.
bool IsStreamed(std::string_view dataset);

// Without reading images; classes are those of the files.
StatusOr<ImageDatasetInfo> DescribeData(const DataQuery& query);

// `notes` receives what the user should know: files that were passed over.
StatusOr<std::unique_ptr<ExampleStore>> OpenData(
    const DataQuery& query, Split split, MemoryResource& resource,
    std::vector<std::string>* notes);

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_DATA_SOURCE_H_
