#include "densenet/data/batch_source.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "densenet/data/shuffle.h"

namespace densenet {

StatusOr<BatchSource> BatchSource::Create(
    const Dataset* dataset, const Normalization& normalization,
    const Options& options, std::optional<std::vector<int64_t>> examples) {
  if (options.batch_size < 1) {
    return InvalidArgument(
        fmt::format("batch size {}: expected at least 1", options.batch_size));
  }
  if (options.augment && options.augment->pad < 0) {
    return InvalidArgument(fmt::format(
        "augmentation pads by {}: expected 0 or more", options.augment->pad));
  }
  ASSIGN_OR_RETURN(PixelTable table, PixelTable::Create(normalization));
  if (table.channels() != dataset->info.channels) {
    return InvalidArgument(fmt::format(
        "normalization of {} channels for {}, which has {}", table.channels(),
        dataset->info.name, dataset->info.channels));
  }
  BatchSource source(dataset, std::move(table), options);
  source.count_ = dataset->count();
  if (examples) {
    for (int64_t i : *examples) {
      if (i < 0 || i >= dataset->count()) {
        return InvalidArgument(fmt::format("example {} of {}, which has {}", i,
                                           dataset->info.name,
                                           dataset->count()));
      }
    }
    source.count_ = static_cast<int64_t>(examples->size());
    source.subset_ = std::move(examples);
  }
  return source;
}

void BatchSource::set_batch_size(int64_t batch_size) {
  CHECK_GE(batch_size, 1);
  options_.batch_size = batch_size;
}

int64_t BatchSource::BatchExamples(int64_t batch) const {
  CHECK(0 <= batch && batch < batches())
      << "batch " << batch << " of " << batches();
  return std::min(options_.batch_size, count_ - batch * options_.batch_size);
}

int64_t BatchSource::ExampleAt(int64_t epoch, int64_t position) const {
  CHECK(0 <= position && position < count_);
  const int64_t i = options_.shuffle
                        ? EpochOrder(count_, options_.seed, epoch)[position]
                        : position;
  return subset_ ? (*subset_)[i] : i;
}

void BatchSource::Fill(int64_t epoch, int64_t batch, TensorView images,
                       TensorView labels) const {
  const int64_t n = BatchExamples(batch);
  CHECK(images.device().is_cpu() && labels.device().is_cpu());
  CHECK(images.IsPacked() && labels.IsPacked());
  CHECK(images.shape() ==
        Shape({n, info().height, info().width, info().channels}))
      << images.ToString();
  CHECK(labels.shape() == Shape({n})) << labels.ToString();
  FillPart(epoch, batch, 0, n, images.data<float>(), labels.data<int32_t>());
}

void BatchSource::FillPart(int64_t epoch, int64_t batch, int64_t begin,
                           int64_t end, float* images, int32_t* labels) const {
  CHECK(0 <= begin && begin <= end && end <= BatchExamples(batch));
  const int64_t elems = info().image_elems();
  for (int64_t i = begin; i < end; ++i) {
    const int64_t example = ExampleAt(epoch, batch * options_.batch_size + i);
    const uint8_t* image = dataset_->image(example);
    float* out = images + i * elems;
    labels[i] = dataset_->label(example);
    if (options_.augment) {
      AugmentImage(
          table_, image, info().height, info().width, options_.augment->pad,
          DrawAugmentation(*options_.augment, options_.seed, epoch, example),
          out);
    } else {
      table_.Normalize(image, info().height * info().width, out);
    }
  }
}

}  // namespace densenet
