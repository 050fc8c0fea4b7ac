// densenet/cli/bench_input.h
//
// `densenet bench --input`: the part of the command that measures images
// instead of steps.

#ifndef DENSENET_DENSENET_CLI_BENCH_INPUT_H_
#define DENSENET_DENSENET_CLI_BENCH_INPUT_H_

#include <optional>
#include <string>

#include "densenet/cli/command.h"
#include "densenet/run_config.h"

namespace densenet::cli {

struct BenchInputOptions {
  RunOptions run;  // of data and, to measure steps too, of the model
  int64_t steps = 0;
  int64_t warm_up = 0;
  double seconds = 5;
  std::optional<std::string> json;
};

// Returns the exit code.
int RunBenchInput(const BenchInputOptions& options, const Environment& env);

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_BENCH_INPUT_H_
