// densenet/run_config.h
//
// Everything that defines a training run. RunOptions are what a user gave (on
// the command line or in a file); RunConfig is what follows from them, the
// presets and the paper's recipe, and is written into a run's config.json.
//
// config.json is one flat object with a key per option of `densenet train`,
// named as the option ("weight-decay": 0.0001), so it can be given to
// --config again.

#ifndef DENSENET_DENSENET_RUN_CONFIG_H_
#define DENSENET_DENSENET_RUN_CONFIG_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/optim/optimizer.h"
#include "core/optim/schedule.h"
#include "core/status.h"
#include "densenet/data/batch_source.h"
#include "densenet/data/data_source.h"
#include "densenet/model_config.h"
#include "densenet/presets.h"
#include "densenet/strategy.h"

namespace densenet {

// Keys in the order they were inserted.
using Json = nlohmann::ordered_json;

struct RunOptions {
  // Model
  std::optional<std::string> preset;
  std::optional<int64_t> depth;
  std::optional<std::vector<int64_t>> blocks;
  std::optional<int64_t> growth;
  std::optional<bool> bottleneck;
  std::optional<double> compression;
  std::optional<double> dropout;
  std::optional<std::string> stem;
  std::optional<int64_t> stem_channels;
  std::optional<double> bn_epsilon;
  // Data
  std::optional<std::string> dataset;
  std::optional<std::string> data;
  std::optional<std::string> image_key;
  std::optional<std::string> label_key;
  std::optional<int64_t> label_offset;
  std::optional<int64_t> image_size;
  std::optional<std::string> augment;
  std::optional<std::string> normalize;
  std::optional<int64_t> validation;
  std::optional<std::string> last_batch;
  std::optional<std::string> on_bad_data;
  std::optional<int64_t> max_bad;
  std::optional<int64_t> prefetch;
  std::optional<int> workers;
  // Optimization
  std::optional<std::string> batch;
  std::optional<int64_t> epochs;
  std::optional<int64_t> steps_per_epoch;
  std::optional<int64_t> max_steps;
  std::optional<int64_t> initial_epoch;
  std::optional<int64_t> patience;
  std::optional<std::string> max_time;
  std::optional<std::string> optimizer;
  std::optional<double> learning_rate;
  std::optional<std::string> schedule;
  std::optional<std::vector<double>> milestones;
  std::optional<double> weight_decay;
  std::optional<double> momentum;
  std::optional<double> label_smoothing;
  std::optional<std::string> class_weights;
  std::optional<uint64_t> seed;
  // Fine-tuning
  std::optional<std::string> init_from;
  std::optional<std::string> init_digest;
  std::optional<bool> freeze_features;
  // Machine
  std::optional<std::string> strategy;
  std::optional<std::string> memory_budget;
  std::optional<std::string> device;
  std::optional<int> threads;
  // Run folder
  std::optional<std::string> out;
  std::optional<int64_t> eval_every;
  std::optional<int64_t> keep;
  std::optional<int64_t> keep_every;
  std::optional<int64_t> checkpoint_every;
  std::optional<double> checkpoint_minutes;

  bool names_model() const { return preset || depth || blocks; }
};

// What leaves a choice to the program.
inline constexpr std::string_view kAutoOption = "auto";
// RunConfig::batch of "auto": chosen when the plan is known (training_plan.h).
inline constexpr int64_t kAutoBatch = 0;
// Far beyond what anybody trains, and far from where products with it leave
// int64.
inline constexpr int64_t kMaxBatch = 1'000'000;

enum class AugmentKind { kNone, kCifar, kImageNet };

std::string_view Name(AugmentKind kind);
StatusOr<AugmentKind> ParseAugmentKind(std::string_view name);

std::string_view Name(LastBatch last_batch);

struct RunConfig {
  std::string preset;  // empty: the model is no preset
  ModelConfig model;   // image extents and classes: those of the data set

  std::string dataset;
  std::string data;  // empty: where the data set is usually installed
  // Of records; nothing: what their manifest says, or the usual.
  std::optional<std::string> image_key;
  std::optional<std::string> label_key;
  std::optional<int64_t> label_offset;
  int64_t image_size = 0;  // of both sides; 0: that of the data set
  AugmentKind augment = AugmentKind::kNone;
  std::string normalize = "dataset";  // see ParseNormalization
  int64_t validation = 0;             // training images held out
  LastBatch last_batch = LastBatch::kKeep;
  bool skip_bad_data = false;
  int64_t max_bad = 100;  // examples of an epoch
  int64_t prefetch = 2;   // batches
  int workers = 0;  // 0: one for each core where images are decoded, else 1

  int64_t batch = 64;  // or kAutoBatch
  int64_t epochs = 300;
  int64_t steps_per_epoch = 0;  // 0: as many as there are batches
  int64_t max_steps = 0;        // 0: no limit
  int64_t initial_epoch = 0;    // epochs that count as done at the start
  // Evaluations in a row without a lower error that end the run; 0: none do.
  int64_t patience = 0;
  double max_seconds = 0;  // of this process, then it saves and stops; 0: any
  OptimizerConfig optimizer;
  double label_smoothing = 0;
  std::string class_weights;  // see class_weights.h; "": all alike
  ScheduleConfig schedule;
  uint64_t seed = 1;

  // Where the run starts from (initial_network.h); "": random values.
  std::string init_from;
  std::string init_digest;
  bool freeze_features = false;  // only the classifier is trained

  // Nothing: "auto", chosen when the plan is known (training_plan.h).
  std::optional<Strategy> strategy;
  int64_t memory_budget_bytes = 0;  // 0: none
  std::string device = "cpu";
  int threads = 0;  // 0: as many as the process may run on

  std::string out;
  int64_t eval_every = 1;          // epochs
  int64_t keep = 3;                // checkpoints
  int64_t keep_every = 0;          // epochs whose checkpoints all stay
  int64_t checkpoint_every = 0;    // steps; 0: not by steps
  double checkpoint_minutes = 10;  // 0: not by time
};

// How the data set is trained on where nothing is said: as the paper did. What
// belongs to the paper's networks (dropout, held-out images, normalization) is
// left out for others, photographs of 1000 classes are ImageNet, and data that
// the paper did not use is trained on for as many epochs as SVHN. Follows from
// preset, model, dataset and augment.
Recipe RecipeOf(const RunConfig& config);

// Where the images of a configuration come from.
DataQuery QueryOf(const RunConfig& config);

// The network that the model options name, with the default image size and
// classes: those follow from the data set.
// Errors  as ResolveRunConfig
StatusOr<ModelConfig> ResolveModel(const RunOptions& options);

// Fills in what the options leave open: the preset, the paper's recipe for
// preset and data set, then the defaults above. An option given always wins.
// Errors  InvalidArgument  an option without which there is no run, one that
//                          is out of range, options that contradict
//         NotFound         unknown preset, data set
StatusOr<RunConfig> ResolveRunConfig(const RunOptions& options);

// The text of a JSON value; bytes that are not UTF-8 (a path may have them)
// are replaced. indent < 0: on one line.
std::string DumpJson(const Json& json, int indent = -1);

// "densenet-bc-40-12", "densenet-6-12-24-16-k32".
std::string ModelName(const ModelConfig& model);

// config.json: see above. `out` is left out, so a run folder can be moved.
Json ToJson(const RunConfig& config);
// A ModelConfig with all its fields, as checkpoints carry it.
Json ToJson(const ModelConfig& model);
// Errors  InvalidArgument  a key is missing, unknown or of another type
StatusOr<ModelConfig> ModelConfigFromJson(const Json& json);

// What keeps a run from being continued as `now`: a line for each option of
// its config.json that differs, "growth: 12 in the run folder, 24 now". Options
// that do not change what is computed (threads, device, strategy, cadences,
// where the data lies) and `epochs` may differ.
std::vector<std::string> DifferencesFrom(const Json& run, const Json& now);

// Whether option `key` on the command line makes `file_key` of a --config file
// meaningless: --preset replaces the file's whole model, --depth its blocks.
bool Overrules(const std::string& key, const std::string& file_key);

}  // namespace densenet

#endif  // DENSENET_DENSENET_RUN_CONFIG_H_
