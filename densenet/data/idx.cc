#include "densenet/data/idx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/io/gzip_reader.h"
#include "densenet/data/dataset_catalog.h"

namespace densenet {
namespace {

constexpr uint8_t kUnsignedBytes = 0x08;  // the element type in the magic
struct IdxFile {
  std::unique_ptr<GzipReader> reader;  // after the header
  std::vector<int64_t> extents;
};

uint32_t BigEndian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 |
         uint32_t{p[3]};
}

StatusOr<IdxFile> OpenIdx(const std::string& path, int rank) {
  IdxFile file;
  ASSIGN_OR_RETURN(file.reader, GzipReader::Open(path));
  uint8_t word[4];
  RETURN_IF_ERROR(file.reader->ReadFully(word, sizeof(word)));
  const uint32_t expected = uint32_t{kUnsignedBytes} << 8 | rank;
  if (BigEndian(word) != expected) {
    return DataLoss(
        fmt::format("{} begins with {:08x}, expected {:08x} (IDX, unsigned "
                    "bytes, {} dimensions)",
                    path, BigEndian(word), expected, rank));
  }
  int64_t bytes = 1;
  for (int axis = 0; axis < rank; ++axis) {
    RETURN_IF_ERROR(file.reader->ReadFully(word, sizeof(word)));
    file.extents.push_back(BigEndian(word));
    if (__builtin_mul_overflow(bytes, file.extents.back(), &bytes)) {
      bytes = file.reader->MaxUnpackedBytes() + 1;
      break;
    }
  }
  if (bytes > file.reader->MaxUnpackedBytes()) {
    return DataLoss(
        fmt::format("{}: its header promises {} elements, more than the file "
                    "can hold: it was cut or is damaged",
                    path, fmt::join(file.extents, " x ")));
  }
  return file;
}

Status CheckExtents(const ImageDatasetInfo& info, const IdxFile& images,
                    const IdxFile& labels) {
  const std::string& path = images.reader->path();
  if (images.extents[1] != info.height || images.extents[2] != info.width) {
    return DataLoss(fmt::format("{}: {} has images of {}x{}, expected {}x{}",
                                info.name, path, images.extents[1],
                                images.extents[2], info.height, info.width));
  }
  if (images.extents[0] != labels.extents[0]) {
    return DataLoss(fmt::format("{}: {} has {} images, {} has {} labels",
                                info.name, path, images.extents[0],
                                labels.reader->path(), labels.extents[0]));
  }
  if (images.extents[0] == 0) {
    return DataLoss(fmt::format("{}: {} has no images", info.name, path));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Dataset> ReadIdx(ImageDatasetInfo info, const std::string& folder,
                          Split split, MemoryResource& resource) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   FindPublishedFiles(info.name, folder, split));
  ASSIGN_OR_RETURN(IdxFile images, OpenIdx(paths[0], 3));
  ASSIGN_OR_RETURN(IdxFile labels, OpenIdx(paths[1], 1));
  RETURN_IF_ERROR(CheckExtents(info, images, labels));

  const int64_t count = images.extents[0];
  ASSIGN_OR_RETURN(Dataset dataset,
                   Dataset::Create(std::move(info), count, resource));
  RETURN_IF_ERROR(images.reader->ReadFully(dataset.images.data<uint8_t>(),
                                           dataset.images.bytes()));
  RETURN_IF_ERROR(images.reader->ExpectEnd());
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  RETURN_IF_ERROR(labels.reader->ReadFully(bytes.data(), count));
  RETURN_IF_ERROR(labels.reader->ExpectEnd());
  for (int64_t i = 0; i < count; ++i) {
    if (bytes[i] >= dataset.info.classes()) {
      return DataLoss(fmt::format(
          "{}: {} record {} has label {}, expected 0 to {}", dataset.info.name,
          labels.reader->path(), i, bytes[i], dataset.info.classes() - 1));
    }
    dataset.labels.data<int32_t>()[i] = bytes[i];
  }
  return dataset;
}

}  // namespace densenet
