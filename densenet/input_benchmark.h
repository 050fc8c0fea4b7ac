// densenet/input_benchmark.h
//
// How fast a run's images come: batches of the pipeline alone, as fast as its
// workers prepare them, and the share of its time that a training step waits
// for its batch.
//
// Memory    that of a run with the same configuration
// Errors    those of a run (densenet/trainer.h)
// Threads   one thread of control

#ifndef DENSENET_DENSENET_INPUT_BENCHMARK_H_
#define DENSENET_DENSENET_INPUT_BENCHMARK_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "core/status.h"
#include "densenet/run_config.h"

namespace densenet {

struct InputBenchmarkOptions {
  RunConfig config;
  double seconds = 5;   // of the pipeline alone, after a second's warm-up
  int64_t steps = 10;   // timed training steps; 0: none
  int64_t warm_up = 2;  // untimed ones before them
  std::function<bool()> should_stop;  // asked after every batch; may be empty
};

struct InputBenchmarkResult {
  int workers = 0;
  int64_t examples = 0;  // prepared in `seconds`
  double seconds = 0;
  double images_per_second = 0;
  // Of the training steps, where there were any.
  std::optional<double> step_images_per_second;
  std::optional<double> wait_share;  // in [0, 1]
};

StatusOr<InputBenchmarkResult> RunInputBenchmark(
    const InputBenchmarkOptions& options);

}  // namespace densenet

#endif  // DENSENET_DENSENET_INPUT_BENCHMARK_H_
