#include "densenet/presets.h"

#include <fmt/format.h>
#include <glog/logging.h>

namespace densenet {
namespace {

constexpr bool kPlain = false;
constexpr bool kAugmented = true;
constexpr double kCompression = 0.5;

// Errors in the order of the paper's columns; below 0: not published.
struct CifarErrors {
  double c10, c10_plus, c100, c100_plus, svhn;
};

Preset CifarPreset(int64_t depth, int64_t growth_rate, bool bottleneck,
                   const CifarErrors& errors) {
  StatusOr<ModelConfig> model = CifarConfig(depth, growth_rate, bottleneck,
                                            bottleneck ? kCompression : 1.0);
  CHECK(model.ok()) << model.status();
  Preset preset;
  preset.name = fmt::format("densenet{}-{}-{}", bottleneck ? "-bc" : "", depth,
                            growth_rate);
  preset.depth = depth;
  preset.model = *model;
  auto add = [&](std::string_view dataset, bool augmented, double error) {
    if (error < 0) return;
    PublishedResult result;
    result.dataset = dataset;
    result.augmented = augmented;
    result.error_percent = error;
    preset.results.push_back(std::move(result));
  };
  add("cifar10", kPlain, errors.c10);
  add("cifar10", kAugmented, errors.c10_plus);
  add("cifar100", kPlain, errors.c100);
  add("cifar100", kAugmented, errors.c100_plus);
  add("svhn", kPlain, errors.svhn);
  return preset;
}

struct ImageNetErrors {
  double top1;
  std::optional<double> top5, ten_crop_top1, ten_crop_top5;
};

Preset ImageNetPreset(int64_t depth, int64_t growth_rate,
                      std::vector<int64_t> block_config,
                      const ImageNetErrors& errors) {
  Preset preset;
  preset.name = fmt::format("densenet-{}", depth);
  preset.depth = depth;
  ModelConfig& model = preset.model;
  model.block_config = std::move(block_config);
  model.growth_rate = growth_rate;
  model.bottleneck = true;
  model.compression = kCompression;
  model.stem = Stem::kImageNet;
  model.stem_channels = 2 * growth_rate;
  model.image_height = 224;
  model.image_width = 224;
  model.classes = 1000;
  PublishedResult result;
  result.dataset = "imagenet";
  result.augmented = true;
  result.error_percent = errors.top1;
  result.top5_percent = errors.top5;
  result.ten_crop_percent = errors.ten_crop_top1;
  result.ten_crop_top5_percent = errors.ten_crop_top5;
  preset.results.push_back(std::move(result));
  return preset;
}

std::vector<Preset> MakePresets() {
  const auto none = std::nullopt;
  return {
      CifarPreset(40, 12, false, {7.00, 5.24, 27.55, 24.42, 1.79}),
      CifarPreset(100, 12, false, {5.77, 4.10, 23.79, 20.20, 1.67}),
      CifarPreset(100, 24, false, {5.83, 3.74, 23.42, 19.25, 1.59}),
      CifarPreset(100, 12, true, {5.92, 4.51, 24.15, 22.27, 1.76}),
      CifarPreset(250, 24, true, {5.19, 3.62, 19.64, 17.60, 1.74}),
      CifarPreset(190, 40, true, {-1, 3.46, -1, 17.18, -1}),
      ImageNetPreset(121, 32, {6, 12, 24, 16}, {25.02, 7.71, 23.61, 6.66}),
      ImageNetPreset(161, 48, {6, 12, 36, 24}, {22.2, none, none, none}),
      ImageNetPreset(169, 32, {6, 12, 32, 32}, {23.80, 6.85, 22.08, 5.92}),
      ImageNetPreset(201, 32, {6, 12, 48, 32}, {22.58, 6.34, 21.46, 5.54}),
      ImageNetPreset(264, 32, {6, 12, 64, 48}, {22.15, 6.12, 20.80, 5.29}),
  };
}

}  // namespace

absl::Span<const Preset> Presets() {
  // Never destroyed, never changed.
  static const auto* const kPresets = new std::vector<Preset>(MakePresets());
  return *kPresets;
}

const Preset* FindPresetOrNull(std::string_view name) {
  for (const Preset& preset : Presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

StatusOr<const Preset*> FindPreset(std::string_view name) {
  if (const Preset* preset = FindPresetOrNull(name)) return preset;
  std::string known;
  for (const Preset& preset : Presets()) {
    if (!known.empty()) known += ", ";
    known += preset.name;
  }
  return NotFound(
      fmt::format("unknown preset '{}': expected one of {}", name, known));
}

std::optional<Recipe> PaperRecipe(std::string_view dataset, bool augmented) {
  Recipe recipe;
  // After every convolution but the first, on the sets without augmentation.
  recipe.dropout = augmented ? 0.0 : 0.2;
  if (dataset == "cifar10" || dataset == "cifar100") return recipe;
  if (dataset == "svhn" || dataset == "svhn-no-extra") {
    recipe.epochs = 40;
    recipe.validation = 6000;
    recipe.normalize = "0/1";  // pixels / 255
    return recipe;
  }
  if (dataset == "imagenet") {
    recipe.batch = 256;
    recipe.epochs = 90;
    recipe.milestones = {1.0 / 3, 2.0 / 3};
    recipe.normalize = "imagenet";
    recipe.dropout = 0;
    return recipe;
  }
  return std::nullopt;
}

int64_t PaperClasses(std::string_view dataset) {
  if (dataset == "cifar10" || dataset == "svhn") return 10;
  if (dataset == "cifar100") return 100;
  if (dataset == "imagenet") return 1000;
  return 0;
}

int64_t PresetParameterCount(const Preset& preset, int64_t classes) {
  ModelConfig model = preset.model;
  model.classes = classes;
  return ParameterCount(model);
}

}  // namespace densenet
