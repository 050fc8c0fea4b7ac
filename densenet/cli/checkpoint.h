// densenet/cli/checkpoint.h
//
// `densenet checkpoint`: its commands, a file each, and what they share.

#ifndef DENSENET_DENSENET_CLI_CHECKPOINT_H_
#define DENSENET_DENSENET_CLI_CHECKPOINT_H_

#include <string>
#include <string_view>
#include <vector>

#include "densenet/cli/command.h"
#include "densenet/data/normalization.h"
#include "densenet/interchange/tensor_file.h"

namespace densenet::cli {

void AddCheckpointCommand(CLI::App& app, const Environment& env,
                          Command* selected);

// The commands of the group.
void AddCheckpointInspect(CLI::App& group, const Environment& env,
                          Command* selected);
void AddCheckpointImport(CLI::App& group, const Environment& env,
                         Command* selected);

void AddCheckpointExport(CLI::App& group, const Environment& env,
                         Command* selected);
void AddCheckpointAverage(CLI::App& group, const Environment& env,
                          Command* selected);

// Whether the file is a checkpoint of ours, not one for other programs.
bool IsCheckpoint(const TensorFile& file);

// "mean 0.49, 0.48, 0.45, deviation 0.2, 0.2, 0.2, of pixels in [0, 1]"
std::string ToString(const Normalization& normalization);

// A title and the first of `lines`, with how many more there are.
void PrintList(std::string_view title, const std::vector<std::string>& lines,
               const Environment& env);

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_CHECKPOINT_H_
