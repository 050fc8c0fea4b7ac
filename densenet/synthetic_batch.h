// densenet/synthetic_batch.h
//
// A batch of random images and labels for commands that measure or compare
// and need no data set.

#ifndef DENSENET_DENSENET_SYNTHETIC_BATCH_H_
#define DENSENET_DENSENET_SYNTHETIC_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "core/tensor.h"
#include "densenet/model_config.h"

namespace densenet {

class SyntheticBatch {
 public:
  // Standard normal pixels (images, H, W, C), labels uniform in [0, classes).
  // Memory  PlannedBytes of `resource`
  static StatusOr<SyntheticBatch> Create(MemoryResource& resource,
                                         const ModelConfig& config,
                                         int64_t images, uint64_t seed);
  static int64_t PlannedBytes(const ModelConfig& config, int64_t images);

  ConstTensorView images() const { return images_.view(); }
  absl::Span<const int32_t> labels() const {
    return absl::MakeConstSpan(labels_.data<int32_t>(), labels_.elems());
  }

 private:
  Tensor images_;
  Tensor labels_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_SYNTHETIC_BATCH_H_
