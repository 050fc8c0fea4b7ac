#include <glog/logging.h>

#include "core/io/image.h"
#include "core/io/image_info.h"
#include "tests/fuzz/fuzz_targets.h"

namespace densenet::testing {

void FuzzImage(std::string_view bytes) {
  const StatusOr<Image> image = DecodeImage(bytes, "fuzz");
  const StatusOr<ImageInfo> info = CheckImage(bytes, "fuzz");
  CHECK_EQ(image.ok(), info.ok()) << image.status() << info.status();
  if (!image.ok()) return;
  CHECK_EQ(static_cast<int64_t>(image->pixels.size()),
           image->height * image->width * 3);
  CHECK_EQ(info->height * info->width, image->height * image->width);
}

}  // namespace densenet::testing
