// densenet/evaluator.h
//
// The mean loss and error of a network over a source of batches, by running
// statistics. Nothing that training uses is touched but the arena, whose
// contents are of no use between steps.
//
// Numerics  means are over examples: each counts once, whatever its batch
// Threads   one thread of control

#ifndef DENSENET_DENSENET_EVALUATOR_H_
#define DENSENET_DENSENET_EVALUATOR_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "core/status.h"
#include "densenet/data/batch_loader.h"
#include "densenet/metrics_csv.h"
#include "densenet/network.h"

namespace densenet {

struct Evaluation {
  Score score;
  int64_t examples = 0;
};

// Called after each batch with the batches done and in all; false stops.
using EvaluationProgress = std::function<bool(int64_t done, int64_t total)>;

// Nothing when `progress` stopped it. `network` is an evaluation network that
// is bound to an arena.
StatusOr<std::optional<Evaluation>> Evaluate(
    Network& network, BatchLoader& loader, const EvaluationProgress& progress);

// Of sums over `examples` > 0.
Score MeanScore(double loss_sum, int64_t correct, int64_t examples);

}  // namespace densenet

#endif  // DENSENET_DENSENET_EVALUATOR_H_
