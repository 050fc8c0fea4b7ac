#include "densenet/cli/datasets.h"

namespace densenet::cli {

void AddDatasetsCommand(CLI::App& app, const Environment& env,
                        Command* selected) {
  CLI::App* group = app.add_subcommand(
      "datasets", "list, fetch, verify and preview data sets");
  group->require_subcommand(1);
  AddDatasetsList(*group, env, selected);
  AddDatasetsFetch(*group, env, selected);
  AddDatasetsVerify(*group, env, selected);
  AddDatasetsPreview(*group, env, selected);
}

}  // namespace densenet::cli
