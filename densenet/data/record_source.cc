#include "densenet/data/record_source.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <utility>

#include "core/io/file.h"
#include "core/io/image.h"
#include "core/io/image_info.h"
#include "core/io/png_writer.h"

namespace densenet {

StatusOr<SourceImage> ClassFilesSource::Read(int64_t i) const {
  CHECK(0 <= i && i < count());
  const ClassFile& file = files_.files[static_cast<size_t>(i)];
  const std::string path = files_.folder + "/" + file.name;
  SourceImage image;
  ASSIGN_OR_RETURN(image.encoded, ReadFile(path, kMaxImageFileBytes));
  ASSIGN_OR_RETURN(const ImageInfo info, CheckImage(image.encoded, path));
  image.format = info.format;
  image.label = file.label;
  image.height = info.height;
  image.width = info.width;
  image.filename = file.name;
  return image;
}

StatusOr<SourceImage> DatasetSource::Read(int64_t i) const {
  CHECK(0 <= i && i < count());
  const ImageDatasetInfo& info = dataset_->info;
  SourceImage image;
  ASSIGN_OR_RETURN(image.encoded, EncodePng(dataset_->image(i), info.height,
                                            info.width, info.channels));
  image.format = "png";
  image.label = dataset_->label(i);
  image.height = info.height;
  image.width = info.width;
  image.filename = fmt::format("{}-{}-{:05}.png", info.name, Name(split_), i);
  return image;
}

}  // namespace densenet
