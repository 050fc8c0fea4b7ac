#include "densenet/cli/network_options.h"

#include <fmt/format.h>

#include "densenet/cli/command.h"
#include "densenet/cli/train_options.h"

namespace densenet::cli {

void AddNetworkOptions(CLI::App& command, NetworkOptions& options) {
  AddModelOptions(command, options.run);
  AddOption(command, "--image-size", options.image_size,
            "pixels of a side (32; with the ImageNet stem 224)", "N");
  AddOption(command, "--classes", options.classes,
            "(10; with the ImageNet stem 1000)", "N");
  AddOption(command, "--strategy", options.strategies,
            "memory strategies, separated by commas (all)", "S,S,...")
      ->delimiter(',');
}

StatusOr<ModelConfig> ResolveNetwork(const NetworkOptions& options) {
  ASSIGN_OR_RETURN(ModelConfig model, ResolveModel(options.run));
  const bool image_net = model.stem == Stem::kImageNet;
  const int64_t size = options.image_size.value_or(image_net ? 224 : 32);
  model.image_height = size;
  model.image_width = size;
  model.classes = options.classes.value_or(image_net ? 1000 : 10);
  model.dropout = options.run.dropout.value_or(0);
  RETURN_IF_ERROR(ValidateModelConfig(model));
  return model;
}

StatusOr<std::vector<Strategy>> ResolveStrategies(
    const NetworkOptions& options) {
  std::vector<Strategy> strategies;
  if (!options.strategies) {
    const absl::Span<const Strategy> all = AllStrategies();
    strategies.assign(all.begin(), all.end());
    return strategies;
  }
  for (const std::string& name : *options.strategies) {
    ASSIGN_OR_RETURN(const Strategy strategy, ParseStrategy(name));
    strategies.push_back(strategy);
  }
  return strategies;
}

}  // namespace densenet::cli
