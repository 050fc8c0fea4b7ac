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
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "densenet/data/batch_loader.h"
#include "densenet/metrics_csv.h"
#include "densenet/network.h"

namespace densenet {

struct Evaluation {
  Score score;
  int64_t examples = 0;
  // Could not be read and were left out.
  std::vector<Status> skipped;
};

// Called after each batch with the batches done and in all; false stops.
using EvaluationProgress = std::function<bool(int64_t done, int64_t total)>;

// Nothing when `progress` stopped it. `network` is an evaluation network that
// is bound to an arena.
// Errors  DataLoss  more than `max_bad` images, or all, could not be read
//         others    those of the loader
StatusOr<std::optional<Evaluation>> Evaluate(
    Network& network, BatchLoader& loader, const EvaluationProgress& progress,
    int64_t max_bad = std::numeric_limits<int64_t>::max());

// Of sums over examples > 0.
Score MeanScore(const BatchResult& sum, int64_t classes);

// "error 5.25%", "error 24.40% (top-5 7.10%)"
std::string ErrorText(const Score& score);

// `what` is what could not go on.
Status TooManyBad(std::string_view what, int64_t bad, int64_t max_bad,
                  const Status& last);

}  // namespace densenet

#endif  // DENSENET_DENSENET_EVALUATOR_H_
