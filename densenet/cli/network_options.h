// densenet/cli/network_options.h
//
// A network named on the command line without a data set, for commands that
// measure and plan: the model options of `densenet train`, the images' size,
// the number of classes, and a list of memory strategies.

#ifndef DENSENET_DENSENET_CLI_NETWORK_OPTIONS_H_
#define DENSENET_DENSENET_CLI_NETWORK_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/model_config.h"
#include "densenet/run_config.h"
#include "densenet/strategy.h"

namespace densenet::cli {

struct NetworkOptions {
  RunOptions run;  // its model options
  std::optional<int64_t> image_size;
  std::optional<int64_t> classes;
  std::optional<std::vector<std::string>> strategies;
};

// Adds them; `options` must outlive the parsing.
void AddNetworkOptions(CLI::App& command, NetworkOptions& options);

// Square images of 32 pixels and 10 classes, or with the ImageNet stem 224 and
// 1000, where the options say nothing.
// Errors  InvalidArgument  an impossible network
StatusOr<ModelConfig> ResolveNetwork(const NetworkOptions& options);

// All of them where the option is not given.
// Errors  InvalidArgument  an unknown strategy
StatusOr<std::vector<Strategy>> ResolveStrategies(
    const NetworkOptions& options);

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_NETWORK_OPTIONS_H_
