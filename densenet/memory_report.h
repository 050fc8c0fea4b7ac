// densenet/memory_report.h
//
// What a training step needs of memory: planned without allocating anything,
// and measured in a process of its own.
//
//   planned     the arena of the step, parameters with gradients and running
//               statistics, one optimizer slot (momentum), the batch
//   activation  the arena: features, their gradients, scratch
//   measured    the most that MemoryResources had handed out; equals planned
//   resident    growth of the process' peak resident memory since before its
//               first allocation; besides the plan there are the libraries'
//               code and tables

#ifndef DENSENET_DENSENET_MEMORY_REPORT_H_
#define DENSENET_DENSENET_MEMORY_REPORT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/context.h"
#include "core/status.h"
#include "densenet/model_config.h"
#include "densenet/strategy.h"
#include "memory/plan.h"

namespace densenet {

struct MemoryRow {
  Strategy strategy = Strategy::kFused;
  int64_t depth = 0;
  int64_t growth_rate = 0;
  int64_t batch = 0;
  int64_t planned_bytes = 0;
  int64_t activation_bytes = 0;
  // What is alive when the arena's live bytes peak; `scratch` includes what
  // alignment and placement leave unused.
  int64_t feature_bytes = 0;
  int64_t stored_bytes = 0;
  int64_t gradient_bytes = 0;
  int64_t scratch_bytes = 0;
  int64_t parameter_bytes = 0;
  int64_t optimizer_bytes = 0;
  int64_t input_bytes = 0;
  std::optional<int64_t> measured_bytes;
  std::optional<int64_t> resident_bytes;
};

// Lays the step out; allocates nothing of it. `ctx` says how many threads need
// scratch.
// Errors  InvalidArgument  configuration or batch
StatusOr<MemoryRow> PlanMemory(const Context& ctx, const ModelConfig& model,
                               Strategy strategy, int64_t batch);

// Runs `steps` training steps on random images in a child process and fills in
// measured_bytes and resident_bytes. Call it before this process has threads
// of its own: the child is a fork.
// Errors  those of a training step; ResourceExhausted  the child was killed
Status MeasureMemory(const ModelConfig& model, int threads, int steps,
                     MemoryRow* row);

// The largest batch in [1, most] whose plan is within `budget_bytes`; 0: not
// even 1.
StatusOr<int64_t> LargestBatch(const Context& ctx, const ModelConfig& model,
                               Strategy strategy, int64_t most,
                               int64_t budget_bytes);

// The deepest model of a family whose plan is within `budget_bytes`; 0: none.
// `family(i)`, i in [1, most], gets deeper with i.
StatusOr<int64_t> LargestIndex(
    const Context& ctx, const std::function<ModelConfig(int64_t)>& family,
    Strategy strategy, int64_t batch, int64_t most, int64_t budget_bytes);

}  // namespace densenet

#endif  // DENSENET_DENSENET_MEMORY_REPORT_H_
