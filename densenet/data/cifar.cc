#include "densenet/data/cifar.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include "core/io/file.h"
#include "densenet/data/dataset_catalog.h"

namespace densenet {
namespace {

constexpr int64_t kPixels = int64_t{32} * 32;
constexpr int64_t kChannels = 3;
constexpr int64_t kImageBytes = kPixels * kChannels;
constexpr int64_t kRecordsPerRead = 1024;

struct RecordFormat {
  int64_t label_bytes;
  int64_t label_at;  // the label that is used

  int64_t bytes() const { return label_bytes + kImageBytes; }
};

constexpr RecordFormat kCifar10 = {.label_bytes = 1, .label_at = 0};
// The coarse label, then the fine one.
constexpr RecordFormat kCifar100 = {.label_bytes = 2, .label_at = 1};

void PlanesToChannelsLast(const uint8_t* planes, uint8_t* image) {
  for (int64_t p = 0; p < kPixels; ++p) {
    for (int64_t c = 0; c < kChannels; ++c) {
      image[p * kChannels + c] = planes[c * kPixels + p];
    }
  }
}

// Reads every record of `file` into the examples from `first` on.
Status ReadRecords(const RandomAccessFile& file, const RecordFormat& format,
                   int64_t first, Dataset& dataset) {
  const int64_t records = file.size() / format.bytes();
  std::vector<uint8_t> buffer(
      static_cast<size_t>(kRecordsPerRead * format.bytes()));
  uint8_t* image = dataset.images.data<uint8_t>() + first * kImageBytes;
  int32_t* label = dataset.labels.data<int32_t>() + first;
  for (int64_t done = 0; done < records;) {
    const int64_t n = std::min(kRecordsPerRead, records - done);
    RETURN_IF_ERROR(
        file.ReadAt(done * format.bytes(), buffer.data(), n * format.bytes()));
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t* record = buffer.data() + i * format.bytes();
      const int32_t value = record[format.label_at];
      if (value >= dataset.info.classes()) {
        return DataLoss(
            fmt::format("{}: {} record {} has label {}, expected 0 to {}",
                        dataset.info.name, file.path(), done + i, value,
                        dataset.info.classes() - 1));
      }
      *label++ = value;
      PlanesToChannelsLast(record + format.label_bytes, image);
      image += kImageBytes;
    }
    done += n;
  }
  return OkStatus();
}

StatusOr<Dataset> ReadFiles(ImageDatasetInfo info,
                            const std::vector<std::string>& paths,
                            const RecordFormat& format,
                            MemoryResource& resource) {
  std::vector<RandomAccessFile> files;
  int64_t count = 0;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
    if (file.size() % format.bytes() != 0) {
      return DataLoss(fmt::format(
          "{}: {} has {} bytes, expected a multiple of {} ({} label and {} "
          "pixel bytes a record): it was cut or is another format",
          info.name, path, file.size(), format.bytes(), format.label_bytes,
          kImageBytes));
    }
    count += file.size() / format.bytes();
    files.push_back(std::move(file));
  }
  if (count == 0) {
    return DataLoss(
        fmt::format("{}: {} has no records", info.name, paths.front()));
  }
  ASSIGN_OR_RETURN(Dataset dataset,
                   Dataset::Create(std::move(info), count, resource));
  int64_t first = 0;
  for (const RandomAccessFile& file : files) {
    RETURN_IF_ERROR(ReadRecords(file, format, first, dataset));
    first += file.size() / format.bytes();
  }
  return dataset;
}

// Replaces the names when `path` exists.
Status ReadClassNames(const std::string& path, ImageDatasetInfo& info) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::istringstream lines(text);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names.push_back(std::move(line));
  }
  if (names.size() != info.class_names.size()) {
    return DataLoss(fmt::format("{}: {} has {} names, expected {}", info.name,
                                path, names.size(), info.classes()));
  }
  info.class_names = std::move(names);
  return OkStatus();
}

}  // namespace

StatusOr<Dataset> ReadCifar10(ImageDatasetInfo info, const std::string& folder,
                              Split split, MemoryResource& resource) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   FindPublishedFiles(info.name, folder, split));
  return ReadFiles(std::move(info), paths, kCifar10, resource);
}

StatusOr<Dataset> ReadCifar100(ImageDatasetInfo info, const std::string& folder,
                               Split split, MemoryResource& resource) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   FindPublishedFiles(info.name, folder, split));
  const auto names_path = std::filesystem::path(paths.front()).parent_path() /
                          "fine_label_names.txt";
  RETURN_IF_ERROR(ReadClassNames(names_path.string(), info));
  return ReadFiles(std::move(info), paths, kCifar100, resource);
}

}  // namespace densenet
