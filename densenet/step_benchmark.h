// densenet/step_benchmark.h
//
// Times training steps of several memory strategies in one process, step by
// step in turn, so that whatever else the machine does meets all of them, and
// the machine's GEMM rate in between.
//
// Useful work is 6 operations per multiply-add of the published network
// (forward, two gradients; 2 each): what a strategy computes again and what the
// transition saves does not count.
//
// Memory   all strategies' arenas at once, from `memory`
// Errors   ResourceExhausted  no room; InvalidArgument  configuration
// Threads  one thread of control; works on ctx.threads()

#ifndef DENSENET_DENSENET_STEP_BENCHMARK_H_
#define DENSENET_DENSENET_STEP_BENCHMARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/status.h"
#include "densenet/model_config.h"
#include "densenet/strategy.h"

namespace densenet {

struct StepBenchmarkOptions {
  ModelConfig model;
  int64_t batch = 64;
  std::vector<Strategy> strategies;
  int64_t steps = 10;
  int64_t warm_up_steps = 2;
  uint64_t seed = 1;
};

struct PhaseTime {
  std::string phase;
  double seconds = 0;  // median over the steps
};

struct StepBenchmarkRow {
  Strategy strategy = Strategy::kFused;
  // Over the steps.
  double median_seconds = 0;
  double fastest_seconds = 0;
  double slowest_seconds = 0;
  double images_per_second = 0;  // at the median
  double useful_gflops = 0;      // at the median
  double gemm_gflops = 0;        // median of the measurements between steps
  double share_of_gemm = 0;
  int64_t planned_bytes = 0;  // arena, parameters with gradients, momentum
  std::vector<PhaseTime> phases;
};

StatusOr<std::vector<StepBenchmarkRow>> RunStepBenchmark(
    const Context& ctx, MemoryResource& memory,
    const StepBenchmarkOptions& options);

}  // namespace densenet

#endif  // DENSENET_DENSENET_STEP_BENCHMARK_H_
