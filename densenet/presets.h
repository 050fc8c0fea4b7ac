// densenet/presets.h
//
// The rows of the paper's two tables of results ("Densely Connected
// Convolutional Networks", Tables 2 and 3): what was trained, how, and the
// error that was published. Parameter counts are computed from the
// configuration, never typed in.
//
// Errors   NotFound  no preset of that name; the message lists them
// Threads  safe

#ifndef DENSENET_DENSENET_PRESETS_H_
#define DENSENET_DENSENET_PRESETS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "densenet/model_config.h"

namespace densenet {

// How a row was trained: SGD with Nesterov momentum 0.9 and weight decay 1e-4
// on all parameters, and these.
struct Recipe {
  int64_t batch = 64;
  int64_t epochs = 300;
  double learning_rate = 0.1;
  // Fractions of the epochs at which the rate is divided by 10.
  std::vector<double> milestones = {0.5, 0.75};
  double dropout = 0.0;
  int64_t validation = 0;  // images held out to choose the model by
  // See ParseNormalization.
  std::string normalize = "dataset";
};

// One network on one data set: a cell of the paper's tables.
struct PublishedResult {
  std::string dataset;  // "cifar10", "cifar100", "svhn" or "imagenet"
  bool augmented = false;
  // Top-1, %; on ImageNet from a single centre crop.
  double error_percent = 0;
  // Top-5 and the two errors from ten crops, where published.
  std::optional<double> top5_percent;
  std::optional<double> ten_crop_percent;
  std::optional<double> ten_crop_top5_percent;
};

struct Preset {
  std::string name;  // "densenet-bc-100-12", "densenet-121"
  // Depth as the paper counts it.
  int64_t depth = 0;
  // For 10 classes of 32 x 32 x 3, or 1000 classes of 224 x 224 x 3.
  ModelConfig model;
  std::vector<PublishedResult> results;
};

// In the order of the paper: CIFAR and SVHN first, then ImageNet.
absl::Span<const Preset> Presets();
StatusOr<const Preset*> FindPreset(std::string_view name);
// Null if there is none of that name.
const Preset* FindPresetOrNull(std::string_view name);

// What the paper did on this data set; nothing for a set it did not use. On
// SVHN it reports the model of the lowest validation error, elsewhere the last.
std::optional<Recipe> PaperRecipe(std::string_view dataset, bool augmented);

// Classes of a data set of the paper; 0 for another.
int64_t PaperClasses(std::string_view dataset);

// Parameters of a preset with that many classes.
int64_t PresetParameterCount(const Preset& preset, int64_t classes);

}  // namespace densenet

#endif  // DENSENET_DENSENET_PRESETS_H_
