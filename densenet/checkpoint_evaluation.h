// densenet/checkpoint_evaluation.h
//
// The loss and error of a checkpoint's network over a source of batches.
//
// Memory    a network, its arena and the loader's batches from `memory`
// Errors    those of Inference and Evaluate
// Threads   one thread of control

#ifndef DENSENET_DENSENET_CHECKPOINT_EVALUATION_H_
#define DENSENET_DENSENET_CHECKPOINT_EVALUATION_H_

#include <cstdint>
#include <optional>

#include "core/context.h"
#include "core/memory_resource.h"
#include "core/status.h"
#include "densenet/checkpoint.h"
#include "densenet/data/batch_source.h"
#include "densenet/evaluator.h"

namespace densenet {

// `ahead` and `workers` as in RunConfig: batches prepared ahead, and 0 for one
// worker for each thread where images are decoded. Nothing when `progress`
// stopped it.
StatusOr<std::optional<Evaluation>> EvaluateCheckpoint(
    const Context& ctx, MemoryResource& memory, const Checkpoint& checkpoint,
    const BatchSource& source, int64_t ahead, int workers, int64_t max_bad,
    const EvaluationProgress& progress);

}  // namespace densenet

#endif  // DENSENET_DENSENET_CHECKPOINT_EVALUATION_H_
