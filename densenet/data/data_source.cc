#include "densenet/data/data_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "densenet/data/class_folder.h"
#include "densenet/data/record_store.h"

namespace densenet {
namespace {

constexpr std::string_view kFolder = "folder";
constexpr std::string_view kRecords = "records";

RecordQuery OfRecords(const DataQuery& query) {
  return {.folder = query.folder,
          .image_key = query.image_key,
          .label_key = query.label_key,
          .label_offset = query.label_offset,
          .max_faults = query.max_faults};
}

StatusOr<std::unique_ptr<ExampleStore>> OpenFolder(
    const std::string& folder, Split split, std::vector<std::string>* notes) {
  ASSIGN_OR_RETURN(std::unique_ptr<ClassFolder> set,
                   ClassFolder::Open(folder, split));
  if (set->others().count > 0) {
    notes->push_back(set->others().Note(Name(split)));
  }
  return std::unique_ptr<ExampleStore>(std::move(set));
}

}  // namespace

std::vector<std::string> DataSourceNames() {
  std::vector<std::string> names = DatasetNames();
  names.emplace_back(kFolder);
  names.emplace_back(kRecords);
  return names;
}

bool IsStreamed(std::string_view dataset) {
  return dataset == kFolder || dataset == kRecords;
}

Status CheckDataSourceName(std::string_view dataset) {
  const std::vector<std::string> names = DataSourceNames();
  if (std::find(names.begin(), names.end(), dataset) != names.end()) {
    return OkStatus();
  }
  return InvalidArgument(
      fmt::format("unknown data set '{}': expected one of {}", dataset,
                  fmt::join(names, ", ")));
}

StatusOr<ImageDatasetInfo> DescribeData(const DataQuery& query) {
  RETURN_IF_ERROR(CheckDataSourceName(query.dataset));
  if (!IsStreamed(query.dataset)) return GetDatasetInfo(query.dataset);
  ImageDatasetInfo info;
  info.name = query.dataset;
  info.channels = 3;
  ASSIGN_OR_RETURN(info.class_names, query.dataset == kFolder
                                         ? ClassFolderNames(query.folder)
                                         : RecordClassNames(OfRecords(query)));
  return info;
}

StatusOr<std::unique_ptr<ExampleStore>> OpenData(
    const DataQuery& query, Split split, MemoryResource& resource,
    std::vector<std::string>* notes) {
  if (query.dataset == kFolder) return OpenFolder(query.folder, split, notes);
  if (query.dataset == kRecords) {
    ASSIGN_OR_RETURN(std::unique_ptr<RecordStore> set,
                     RecordStore::Open(OfRecords(query), split, notes));
    return std::unique_ptr<ExampleStore>(std::move(set));
  }
  ASSIGN_OR_RETURN(Dataset set,
                   LoadDataset(query.dataset, query.folder, split, resource));
  return std::unique_ptr<ExampleStore>(
      std::make_unique<Dataset>(std::move(set)));
}

}  // namespace densenet
