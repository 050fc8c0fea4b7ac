#include "densenet/synthetic_batch.h"

#include "core/normal_quantile.h"
#include "core/random.h"

namespace densenet {
namespace {

constexpr uint32_t kPixelStream = 1;
constexpr uint32_t kLabelStream = 2;

}  // namespace

StatusOr<SyntheticBatch> SyntheticBatch::Create(MemoryResource& resource,
                                                const ModelConfig& config,
                                                int64_t images, uint64_t seed) {
  SyntheticBatch batch;
  ASSIGN_OR_RETURN(batch.images_,
                   Tensor::Empty(resource, DType::kFloat32,
                                 {images, config.image_height,
                                  config.image_width, config.image_channels}));
  ASSIGN_OR_RETURN(batch.labels_,
                   Tensor::Empty(resource, DType::kInt32, {images}));
  float* pixels = batch.images_.data<float>();
  for (int64_t i = 0; i < batch.images_.elems(); ++i) {
    const uint32_t bits = RandomBits({seed, 0, kPixelStream}, i);
    pixels[i] = static_cast<float>(NormalQuantile((bits + 0.5) / 4294967296.0));
  }
  int32_t* labels = batch.labels_.data<int32_t>();
  for (int64_t i = 0; i < images; ++i) {
    labels[i] =
        static_cast<int32_t>(UniformInt(RandomBits({seed, 0, kLabelStream}, i),
                                        static_cast<uint32_t>(config.classes)));
  }
  return batch;
}

int64_t SyntheticBatch::PlannedBytes(const ModelConfig& config,
                                     int64_t images) {
  const int64_t pixels =
      config.image_height * config.image_width * config.image_channels;
  return images * (pixels * int64_t{sizeof(float)} + int64_t{sizeof(int32_t)});
}

}  // namespace densenet
