#include "densenet/training_data.h"

#include <fmt/format.h>

#include <utility>

#include "densenet/data/data_source.h"
#include "densenet/data/shuffle.h"

namespace densenet {
namespace {

// ImageNet is evaluated on the centre of 224 of a shorter side of 256.
constexpr double kPhotoMargin = 256.0 / 224.0;

}  // namespace

BatchSource::Options EvaluationSourceOptions(const RunConfig& config) {
  BatchSource::Options options;
  options.batch_size = config.batch == kAutoBatch ? 1 : config.batch;
  options.seed = config.seed;
  options.height = config.image_size;
  options.width = config.image_size;
  if (config.augment == AugmentKind::kImageNet) {
    options.center_margin = kPhotoMargin;
  }
  if (config.skip_bad_data) options.bad_data = BadData::kLeaveOut;
  return options;
}

int LoaderWorkers(int workers, const BatchSource& source, int threads) {
  if (workers > 0) return workers;
  return source.decodes() ? threads : 1;
}

Status TrainingData::Open(const RunConfig& config, MemoryResource& resource) {
  const DataQuery query = QueryOf(config);
  const int64_t before = resource.stats().active_bytes;
  ASSIGN_OR_RETURN(train_set_,
                   OpenData(query, Split::kTrain, resource, &notes_));
  ASSIGN_OR_RETURN(test_set_, OpenData(query, Split::kTest, resource, &notes_));
  bytes_ = resource.stats().active_bytes - before;
  for (const ExampleStore* set : {train_set_.get(), test_set_.get()}) {
    if (set->count() == 0) {
      return InvalidArgument(fmt::format(
          "{}: the {} split has no images", config.dataset,
          Name(set == train_set_.get() ? Split::kTrain : Split::kTest)));
    }
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<TrainingData>> TrainingData::Load(
    const RunConfig& config, MemoryResource& resource) {
  std::unique_ptr<TrainingData> data(new TrainingData);
  RETURN_IF_ERROR(data->Open(config, resource));
  const ImageDatasetInfo& info = data->train_set_->Info();
  ASSIGN_OR_RETURN(HeldOut held_out, HoldOut(data->train_set_->count(),
                                             config.validation, config.seed));
  DataDescription& description = data->description_;
  description.dataset = config.dataset;
  description.train_examples = static_cast<int64_t>(held_out.train.size());
  description.class_names = info.class_names;
  description.digest = data->train_set_->Digest();
  ASSIGN_OR_RETURN(const std::optional<Normalization> given,
                   ParseNormalization(config.normalize, info.channels));
  if (given) {
    description.normalization = *given;
  } else {
    ASSIGN_OR_RETURN(description.normalization,
                     ComputeNormalization(*data->train_set_, held_out.train,
                                          config.model.image_height,
                                          config.model.image_width));
  }

  BatchSource::Options options = EvaluationSourceOptions(config);
  auto source = [&](const ExampleStore& set, std::vector<int64_t> examples) {
    return BatchSource::Create(&set, description.normalization, options,
                               std::move(examples));
  };
  if (config.validation > 0) {
    ASSIGN_OR_RETURN(data->validation_,
                     source(*data->train_set_, std::move(held_out.validation)));
  }
  ASSIGN_OR_RETURN(data->test_,
                   BatchSource::Create(data->test_set_.get(),
                                       description.normalization, options));
  options.shuffle = true;
  options.last_batch = config.last_batch;
  if (config.skip_bad_data) options.bad_data = BadData::kSubstitute;
  if (config.augment == AugmentKind::kCifar) options.augment.emplace();
  if (config.augment == AugmentKind::kImageNet) options.photo.emplace();
  ASSIGN_OR_RETURN(data->train_,
                   source(*data->train_set_, std::move(held_out.train)));
  return data;
}

void TrainingData::SetBatchSize(int64_t batch_size) {
  train_->set_batch_size(batch_size);
  test_->set_batch_size(batch_size);
  if (validation_) validation_->set_batch_size(batch_size);
}

}  // namespace densenet
