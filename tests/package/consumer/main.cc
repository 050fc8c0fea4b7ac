// Uses the installed libraries as a stranger would.

#include <cstdio>

#include "densenet/model_config.h"

int main() {
  densenet::StatusOr<densenet::ModelConfig> config =
      densenet::CifarConfig(100, 12, /*bottleneck=*/true, 0.5);
  if (!config.ok()) {
    std::fprintf(stderr, "%s\n", config.status().ToString().c_str());
    return 1;
  }
  // The parameters of DenseNet-BC-100-12 as published.
  return densenet::ParameterCount(*config) == 769162 ? 0 : 1;
}
