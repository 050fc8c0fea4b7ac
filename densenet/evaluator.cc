#include "densenet/evaluator.h"

#include <glog/logging.h>

#include "absl/types/span.h"

namespace densenet {

StatusOr<std::optional<Evaluation>> Evaluate(
    Network& network, BatchLoader& loader, const EvaluationProgress& progress) {
  BatchResult sum;
  const int64_t batches = loader.source().batches();
  for (int64_t i = 0; i < batches; ++i) {
    const Batch batch = loader.Get(/*epoch=*/0, i);
    ASSIGN_OR_RETURN(
        const BatchResult result,
        network.Evaluate(batch.images,
                         absl::MakeConstSpan(batch.labels.data<int32_t>(),
                                             batch.labels.elems())));
    sum.loss_sum += result.loss_sum;
    sum.correct += result.correct;
    sum.examples += result.examples;
    if (progress && !progress(i + 1, batches)) {
      return std::optional<Evaluation>();
    }
  }
  return std::optional<Evaluation>(
      {MeanScore(sum.loss_sum, sum.correct, sum.examples), sum.examples});
}

Score MeanScore(double loss_sum, int64_t correct, int64_t examples) {
  CHECK_GT(examples, 0);
  const double n = static_cast<double>(examples);
  return {loss_sum / n, 100.0 * static_cast<double>(examples - correct) / n};
}

}  // namespace densenet
