#include "core/io/image_info.h"

#include "core/io/image.h"
#include "core/io/image_codecs.h"

namespace densenet {

StatusOr<ImageInfo> CheckImage(std::string_view bytes, std::string_view name) {
  if (bytes.starts_with("\xff\xd8\xff")) {
    ASSIGN_OR_RETURN(const image_codecs::Stored stored,
                     image_codecs::DecodeJpeg(bytes, name));
    return ImageInfo{"jpeg", stored.image.height, stored.image.width};
  }
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) {
    ASSIGN_OR_RETURN(const image_codecs::Stored stored,
                     image_codecs::DecodePng(bytes, name));
    return ImageInfo{"png", stored.image.height, stored.image.width};
  }
  return DecodeImage(bytes, name).status();
}

}  // namespace densenet
