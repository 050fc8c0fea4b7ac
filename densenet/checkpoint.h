// densenet/checkpoint.h
//
// One checkpoint: a safetensors file that holds all a run needs to go on as if
// it had never stopped, and all that evaluation and prediction need to know.
// Nothing in it depends on device, threads or memory strategy.
//
//   parameters/<name>        F32, in the shapes of ParameterSpecs
//   statistics/<name>        F32, running averages of batch norm
//   optimizer/<slot>/<name>  F32, "velocity"
//   counters/<name>          I64 and F64 without shape: TrainingProgress
//   __metadata__             densenet.model, densenet.data, densenet.run,
//                            densenet.clock: JSON
//
// Errors   DataLoss         damaged, or something is missing from it
//          InvalidArgument  a sound file that is no checkpoint of ours
//          others           what the system said
// Threads  one thread of control

#ifndef DENSENET_DENSENET_CHECKPOINT_H_
#define DENSENET_DENSENET_CHECKPOINT_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/io/safetensors.h"
#include "core/status.h"
#include "densenet/data/normalization.h"
#include "densenet/model_config.h"
#include "densenet/run_config.h"
#include "parallel/parameter_store.h"

namespace densenet {

// How far a run has come.
struct TrainingProgress {
  int64_t global_step = 0;
  int64_t epoch = 0;  // completed: its results are in metrics.csv
  int64_t batch = 0;  // steps done of the epoch after those
  // Sums over the examples of that epoch so far.
  double loss_sum = 0;
  int64_t correct = 0;
  int64_t correct_top5 = 0;
  int64_t examples = 0;
  int64_t skipped = 0;  // could not be read; others stood in for them
  double seconds = 0;   // spent in its steps
  // Over the whole run.
  int64_t total_examples = 0;
  double total_seconds = 0;
  // The lowest error, %, on the images that training is evaluated on.
  double best_error = std::numeric_limits<double>::infinity();
  int64_t best_step = -1;
  int64_t stale_evaluations = 0;  // since the best

  friend bool operator==(const TrainingProgress&,
                         const TrainingProgress&) = default;
};

// What the images were, and what was done to them before the network.
struct DataDescription {
  std::string dataset;
  int64_t train_examples = 0;  // validation images not among them
  std::vector<std::string> class_names;
  Normalization normalization;
  uint32_t digest = 0;  // of the files' names and sizes; 0: not known

  friend bool operator==(const DataDescription&,
                         const DataDescription&) = default;
};

Json ToJson(const DataDescription& data);
// Errors  InvalidArgument  names the key
StatusOr<DataDescription> DataDescriptionFromJson(const Json& json);

// Keys of a checkpoint's metadata.
inline constexpr char kModelMetadata[] = "densenet.model";
inline constexpr char kDataMetadata[] = "densenet.data";
inline constexpr char kRunMetadata[] = "densenet.run";
inline constexpr char kClockMetadata[] = "densenet.clock";

struct CheckpointInfo {
  ModelConfig model;
  DataDescription data;
  Json run;  // config.json of the run
  TrainingProgress progress;
};

// Writes all of `store` but the gradients, atomically. `slot_names` name its
// slots.
Status SaveCheckpoint(const std::string& path, const CheckpointInfo& info,
                      ParameterStore& store,
                      const std::vector<std::string>& slot_names);

class Checkpoint {
 public:
  // Reads the file once to compare its checksums, and checks that all tensors
  // that follow from the model are there with their shapes.
  static StatusOr<Checkpoint> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const CheckpointInfo& info() const { return info_; }

  // Into a store made of the model's specs.
  Status ReadNetwork(ParameterStore& store) const;
  // Likewise all but the classifier, of which the store's may be another.
  Status ReadFeatures(ParameterStore& store) const;
  // All that training needs. DataLoss when a slot is missing.
  Status ReadAll(ParameterStore& store,
                 const std::vector<std::string>& slot_names) const;

 private:
  explicit Checkpoint(SafetensorsFile file) : file_(std::move(file)) {}
  Status ReadMetadata();
  Status ReadProgress();
  Status CheckTensors() const;
  Status ReadTensors(ParameterStore& store, bool classifier) const;

  SafetensorsFile file_;
  CheckpointInfo info_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_CHECKPOINT_H_
