// densenet/data/batch_source.h
//
// The batches of a data set as a pure function of (epoch, batch): shuffled and
// augmented for training, in order and as they are for evaluation. Whoever
// fills a batch, and in how many parts, its bits are the same.
//
// Shapes    images (n, H, W, C), labels (n); n is batch_size but for the last
//           batch of an epoch, which has what is left
// Types     images float32, labels int32
// Memory    8 bytes an example where a subset is given; filling allocates
//           nothing
// Errors    InvalidArgument  a batch size < 1, an example outside the data
//                            set, a normalization of other channels
// Threads   safe

#ifndef DENSENET_DENSENET_DATA_BATCH_SOURCE_H_
#define DENSENET_DENSENET_DATA_BATCH_SOURCE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/status.h"
#include "core/tensor.h"
#include "densenet/data/augment.h"
#include "densenet/data/dataset.h"
#include "densenet/data/normalization.h"

namespace densenet {

class BatchSource {
 public:
  struct Options {
    int64_t batch_size = 1;
    uint64_t seed = 0;
    // A new order every epoch.
    bool shuffle = false;
    std::optional<AugmentOptions> augment = std::nullopt;
  };

  // `dataset` must outlive the source. `examples` are the ones to use, in
  // their order without shuffling; nothing means all.
  static StatusOr<BatchSource> Create(
      const Dataset* dataset, const Normalization& normalization,
      const Options& options,
      std::optional<std::vector<int64_t>> examples = std::nullopt);

  // From the next call on. CHECKs batch_size >= 1; no loader may be at work.
  void set_batch_size(int64_t batch_size);

  const ImageDatasetInfo& info() const { return dataset_->info; }
  // Examples, and batches, in an epoch.
  int64_t examples() const { return count_; }
  int64_t batches() const {
    return (count_ + options_.batch_size - 1) / options_.batch_size;
  }
  // Examples in a batch; the largest is that of batch 0.
  int64_t BatchExamples(int64_t batch) const;
  // The example of the data set at `position` of an epoch.
  int64_t ExampleAt(int64_t epoch, int64_t position) const;

  // CHECKs 0 <= batch < batches(), 0 <= epoch < 2^32 and the views, which are
  // packed, on the host and of the batch's shape.
  void Fill(int64_t epoch, int64_t batch, TensorView images,
            TensorView labels) const;
  // The part [begin, end) of a batch, into the batch's memory.
  void FillPart(int64_t epoch, int64_t batch, int64_t begin, int64_t end,
                float* images, int32_t* labels) const;

 private:
  BatchSource(const Dataset* dataset, PixelTable table, const Options& options)
      : dataset_(dataset), table_(std::move(table)), options_(options) {}

  const Dataset* dataset_;
  PixelTable table_;
  Options options_;
  std::optional<std::vector<int64_t>> subset_;
  int64_t count_ = 0;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_BATCH_SOURCE_H_
