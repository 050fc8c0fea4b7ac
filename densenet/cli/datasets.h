// densenet/cli/datasets.h
//
// The commands of `densenet datasets`, a file each.

#ifndef DENSENET_DENSENET_CLI_DATASETS_H_
#define DENSENET_DENSENET_CLI_DATASETS_H_

#include "densenet/cli/command.h"

namespace densenet::cli {

void AddDatasetsList(CLI::App& group, const Environment& env,
                     Command* selected);
void AddDatasetsVerify(CLI::App& group, const Environment& env,
                       Command* selected);
void AddDatasetsFetch(CLI::App& group, const Environment& env,
                      Command* selected);
void AddDatasetsPreview(CLI::App& group, const Environment& env,
                        Command* selected);

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_DATASETS_H_
