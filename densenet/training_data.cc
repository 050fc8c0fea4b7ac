#include "densenet/training_data.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "densenet/data/shuffle.h"

namespace densenet {

StatusOr<std::unique_ptr<TrainingData>> TrainingData::Load(
    const RunConfig& config, MemoryResource& resource) {
  std::unique_ptr<TrainingData> data(new TrainingData);
  ASSIGN_OR_RETURN(data->train_set_, LoadDataset(config.dataset, config.data,
                                                 Split::kTrain, resource));
  ASSIGN_OR_RETURN(data->test_set_, LoadDataset(config.dataset, config.data,
                                                Split::kTest, resource));
  for (const Dataset* set : {&data->train_set_, &data->test_set_}) {
    if (set->count() == 0) {
      return InvalidArgument(fmt::format(
          "{}: the {} split has no images", config.dataset,
          Name(set == &data->train_set_ ? Split::kTrain : Split::kTest)));
    }
  }
  ASSIGN_OR_RETURN(HeldOut held_out, HoldOut(data->train_set_.count(),
                                             config.validation, config.seed));

  DataDescription& description = data->description_;
  description.dataset = config.dataset;
  description.train_examples = static_cast<int64_t>(held_out.train.size());
  description.class_names = data->train_set_.info.class_names;
  ASSIGN_OR_RETURN(description.normalization,
                   ComputeNormalization(data->train_set_, held_out.train));

  BatchSource::Options options;
  options.batch_size = config.batch == kAutoBatch ? 1 : config.batch;
  options.seed = config.seed;
  auto source = [&](const Dataset& set, std::vector<int64_t> examples) {
    return BatchSource::Create(&set, description.normalization, options,
                               std::move(examples));
  };
  if (config.validation > 0) {
    ASSIGN_OR_RETURN(data->validation_,
                     source(data->train_set_, std::move(held_out.validation)));
  }
  ASSIGN_OR_RETURN(data->test_,
                   BatchSource::Create(&data->test_set_,
                                       description.normalization, options));
  options.shuffle = true;
  if (config.augment) options.augment = AugmentOptions();
  ASSIGN_OR_RETURN(data->train_,
                   source(data->train_set_, std::move(held_out.train)));
  return data;
}

void TrainingData::SetBatchSize(int64_t batch_size) {
  train_->set_batch_size(batch_size);
  test_->set_batch_size(batch_size);
  if (validation_) validation_->set_batch_size(batch_size);
}

int64_t TrainingData::bytes() const {
  return train_set_.images.bytes() + train_set_.labels.bytes() +
         test_set_.images.bytes() + test_set_.labels.bytes();
}

}  // namespace densenet
