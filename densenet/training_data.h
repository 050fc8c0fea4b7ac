// densenet/training_data.h
//
// The images of a run: the training split without those held out, these, and
// the test split, all normalized by the mean and deviation of the images that
// are trained on, or by those given.
//
// Memory   both splits from the resource; of images in files an index besides
// Errors   those of OpenData and HoldOut
// Threads  safe to read

#ifndef DENSENET_DENSENET_TRAINING_DATA_H_
#define DENSENET_DENSENET_TRAINING_DATA_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/memory_resource.h"
#include "core/status.h"
#include "densenet/checkpoint.h"
#include "densenet/data/batch_source.h"
#include "densenet/data/example_store.h"
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
  // What the user should know of the files.
  const std::vector<std::string>& notes() const { return notes_; }
  // Held of the resource.
  int64_t bytes() const { return bytes_; }

 private:
  TrainingData() = default;
  Status Open(const RunConfig& config, MemoryResource& resource);

  std::unique_ptr<ExampleStore> train_set_;
  std::unique_ptr<ExampleStore> test_set_;
  std::vector<std::string> notes_;
  int64_t bytes_ = 0;
  std::optional<BatchSource> train_;
  std::optional<BatchSource> validation_;
  std::optional<BatchSource> test_;
  DataDescription description_;
};

// How a run feeds its images to the network, but for the order: what
// evaluation, later and elsewhere, must do alike.
BatchSource::Options EvaluationSourceOptions(const RunConfig& config);

// Threads that prepare a run's batches: as configured, or one for each of
// `threads` where images are decoded.
int LoaderWorkers(int workers, const BatchSource& source, int threads);

}  // namespace densenet

#endif  // DENSENET_DENSENET_TRAINING_DATA_H_
