// densenet/data/data_source.h
//
// The data sets that can be trained on, under one name each: those in memory
// (densenet/data/dataset.h), "folder" (densenet/data/class_folder.h), "records"
// (densenet/data/record_store.h).
//
// Errors   InvalidArgument  unknown name: lists the known ones
//          others           those of the readers

#ifndef DENSENET_DENSENET_DATA_DATA_SOURCE_H_
#define DENSENET_DENSENET_DATA_DATA_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
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
  // Of records: what they are called there.
  std::optional<std::string> image_key = std::nullopt;
  std::optional<std::string> label_key = std::nullopt;
  std::optional<int64_t> label_offset = std::nullopt;
  // Damaged places in files that are passed over; without, none is.
  std::optional<int64_t> max_faults = std::nullopt;
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
