#include "densenet/data/svhn.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/io/mat_file.h"
#include "densenet/data/dataset_catalog.h"

namespace densenet {
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kChannels = 3;
constexpr int64_t kImageBytes = kSide * kSide * kChannels;
constexpr int64_t kZeroLabel = 10;  // how the files write the digit 0

struct SvhnFile {
  std::unique_ptr<MatFile> mat;
  MatVariable images;
  MatVariable labels;
  int64_t count = 0;
};

StatusOr<SvhnFile> OpenSvhn(const std::string& path,
                            const ImageDatasetInfo& info) {
  SvhnFile file;
  StatusOr<std::unique_ptr<MatFile>> mat = MatFile::Open(path);
  if (!mat.ok()) return Annotate(mat.status(), info.name);
  file.mat = *std::move(mat);
  for (const auto& [name, variable] :
       {std::pair("X", &file.images), std::pair("y", &file.labels)}) {
    StatusOr<MatVariable> found = file.mat->Find(name);
    if (!found.ok()) {
      return DataLoss(
          fmt::format("{}: {}; expected X and y of SVHN's cropped digits",
                      info.name, StdView(found.status().message())));
    }
    *variable = *std::move(found);
  }
  const std::vector<int64_t>& extents = file.images.extents;
  // A single image has no fourth extent.
  const bool shaped = (extents.size() == 4 || extents.size() == 3) &&
                      extents[0] == kSide && extents[1] == kSide &&
                      extents[2] == kChannels;
  if (file.images.type != MatClass::kUInt8 || !shaped) {
    return DataLoss(fmt::format("{}: X of {} is {}, expected uint8 32x32x3xN",
                                info.name, path, file.images.ToString()));
  }
  file.count = extents.size() == 4 ? extents[3] : 1;
  if (file.count == 0) {
    return DataLoss(fmt::format("{}: {} has no images", info.name, path));
  }
  if (file.labels.elems() != file.count) {
    return DataLoss(fmt::format("{}: {} has {} images and {} labels", info.name,
                                path, file.count, file.labels.elems()));
  }
  return file;
}

// Columns of a plane one after the other, three planes -> (H, W, C), in place.
void ColumnsToChannelsLast(uint8_t* image) {
  std::array<uint8_t, kImageBytes> columns;
  std::memcpy(columns.data(), image, kImageBytes);
  for (int64_t y = 0; y < kSide; ++y) {
    for (int64_t x = 0; x < kSide; ++x) {
      for (int64_t c = 0; c < kChannels; ++c) {
        *image++ = columns[(c * kSide + x) * kSide + y];
      }
    }
  }
}

Status ReadLabels(SvhnFile& file, const ImageDatasetInfo& info, int32_t* out) {
  ASSIGN_OR_RETURN(const std::vector<double> labels,
                   file.mat->ReadNumbers(file.labels));
  for (size_t i = 0; i < labels.size(); ++i) {
    const double label = labels[i];
    if (!(label >= 1 && label <= kZeroLabel) || label != std::floor(label)) {
      return DataLoss(fmt::format(
          "{}: {} record {} has label {}, expected 1 to {} ({} for the digit "
          "0)",
          info.name, file.mat->path(), i, label, kZeroLabel, kZeroLabel));
    }
    const auto digit = static_cast<int32_t>(label);
    out[i] = digit == kZeroLabel ? 0 : digit;
  }
  return OkStatus();
}

StatusOr<Dataset> ReadFiles(ImageDatasetInfo info,
                            const std::vector<std::string>& paths,
                            MemoryResource& resource) {
  std::vector<SvhnFile> files;
  int64_t count = 0;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(SvhnFile file, OpenSvhn(path, info));
    count += file.count;
    files.push_back(std::move(file));
  }
  ASSIGN_OR_RETURN(Dataset dataset,
                   Dataset::Create(std::move(info), count, resource));
  uint8_t* image = dataset.images.data<uint8_t>();
  int32_t* label = dataset.labels.data<int32_t>();
  for (SvhnFile& file : files) {
    RETURN_IF_ERROR(file.mat->ReadBytes(file.images, image));
    RETURN_IF_ERROR(ReadLabels(file, dataset.info, label));
    label += file.count;
    for (int64_t i = 0; i < file.count; ++i, image += kImageBytes) {
      ColumnsToChannelsLast(image);
    }
  }
  return dataset;
}

}  // namespace

StatusOr<Dataset> ReadSvhn(ImageDatasetInfo info, const std::string& folder,
                           Split split, MemoryResource& resource) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   FindPublishedFiles(info.name, folder, split));
  return ReadFiles(std::move(info), paths, resource);
}

}  // namespace densenet
