// densenet/cli/train_options.h
//
// The options that define a run, on the command line and in --config files.

#ifndef DENSENET_DENSENET_CLI_TRAIN_OPTIONS_H_
#define DENSENET_DENSENET_CLI_TRAIN_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "core/status.h"
#include "densenet/run_config.h"

namespace densenet::cli {

// The options of the network, and of its data but for the size of images:
// parts of AddRunOptions that other commands share.
void AddModelOptions(CLI::App& command, RunOptions& options);
void AddDataOptions(CLI::App& command, RunOptions& options);

// Adds every option of RunOptions; `options` must outlive the parsing.
void AddRunOptions(CLI::App& command, RunOptions& options);

// The options of a JSON object with a key per option ("weight-decay"), as a
// run's config.json; those in `given` (the command line) win.
// Errors  InvalidArgument  names file and key
//         NotFound         no such file
StatusOr<RunOptions> MergeConfigFile(const std::string& path,
                                     const RunOptions& given);

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_TRAIN_OPTIONS_H_
