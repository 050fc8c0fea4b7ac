// densenet/training_data.h
//
// The images of a run: the training split without those held out, these, and
// the test split, all normalized by the mean and deviation of the images that
// are trained on.
//
// Memory   both splits from the resource
// Errors   those of LoadDataset and HoldOut
// Threads  safe to read

#ifndef DENSENET_DENSENET_TRAINING_DATA_H_
#define DENSENET_DENSENET_TRAINING_DATA_H_

#include <memory>
#include <optional>

#include "core/memory_resource.h"
#include "core/status.h"
#include "densenet/checkpoint.h"
#include "densenet/data/batch_source.h"
#include "densenet/data/dataset.h"
#include "densenet/run_config.h"

namespace densenet {

// Not movable: the sources point at the data sets.
class TrainingData {
 public:
  static StatusOr<std::unique_ptr<TrainingData>> Load(const RunConfig& config,
                                                      MemoryResource& resource);
  TrainingData(const TrainingData&) = delete;
  TrainingData& operator=(const TrainingData&) = delete;

  // Shuffled, and augmented if the configuration says so.
  const BatchSource& train() const { return *train_; }
  const BatchSource& test() const { return *test_; }
  // Null without --validation.
  const BatchSource* validation() const {
    return validation_ ? &*validation_ : nullptr;
  }
  // Of all three. Load takes config.batch, where it is kAutoBatch 1.
  void SetBatchSize(int64_t batch_size);
  const DataDescription& description() const { return description_; }
  int64_t bytes() const;

 private:
  TrainingData() = default;

  Dataset train_set_;
  Dataset test_set_;
  std::optional<BatchSource> train_;
  std::optional<BatchSource> validation_;
  std::optional<BatchSource> test_;
  DataDescription description_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_TRAINING_DATA_H_
