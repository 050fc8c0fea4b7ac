#include "core/io/image_info.h"

#include "core/io/image_codecs.h"

namespace densenet {
namespace {

// Wants no pixels: they are decoded as far as it takes to see damage.
class SizeSink final : public image_codecs::RowSink {
 public:
  StatusOr<image_codecs::RowRange> Begin(
      const image_codecs::StoredSize& size) override {
    size_ = size;
    return image_codecs::RowRange{0, 0};
  }
  void Row(int64_t, const uint8_t*) override {}

  const image_codecs::StoredSize& size() const { return size_; }

 private:
  image_codecs::StoredSize size_;
};

}  // namespace

StatusOr<ImageInfo> CheckImage(std::string_view bytes, std::string_view name) {
  SizeSink sink;
  RETURN_IF_ERROR(image_codecs::Decode(bytes, name, sink));
  return ImageInfo{bytes.starts_with("\xff\xd8") ? "jpeg" : "png",
                   sink.size().height, sink.size().width};
}

}  // namespace densenet
