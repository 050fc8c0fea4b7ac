#include "densenet/evaluator.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <utility>

#include "absl/types/span.h"

namespace densenet {

StatusOr<std::optional<Evaluation>> Evaluate(Network& network,
                                             BatchLoader& loader,
                                             const EvaluationProgress& progress,
                                             int64_t max_bad) {
  BatchResult sum;
  Evaluation evaluation;
  const int64_t batches = loader.source().batches();
  for (int64_t i = 0; i < batches; ++i) {
    ASSIGN_OR_RETURN(const Batch batch, loader.Get(/*epoch=*/0, i));
    for (const BadExample& bad : batch.bad) {
      evaluation.skipped.push_back(bad.reason);
    }
    const auto bad = static_cast<int64_t>(evaluation.skipped.size());
    if (bad > max_bad) {
      return TooManyBad("evaluation", bad, max_bad, evaluation.skipped.back());
    }
    if (batch.examples() > 0) {
      ASSIGN_OR_RETURN(
          const BatchResult result,
          network.Evaluate(batch.images,
                           absl::MakeConstSpan(batch.labels.data<int32_t>(),
                                               batch.labels.elems())));
      sum.loss_sum += result.loss_sum;
      sum.correct += result.correct;
      sum.correct_top5 += result.correct_top5;
      sum.examples += result.examples;
    }
    if (progress && !progress(i + 1, batches)) {
      return std::optional<Evaluation>();
    }
  }
  if (sum.examples == 0) {
    return Annotate(evaluation.skipped.empty() ? DataLoss("there are none")
                                               : evaluation.skipped.back(),
                    "evaluation: not one image can be read");
  }
  evaluation.score = MeanScore(sum, network.config().classes);
  evaluation.examples = sum.examples;
  return std::optional(std::move(evaluation));
}

Score MeanScore(const BatchResult& sum, int64_t classes) {
  CHECK_GT(sum.examples, 0);
  const auto n = static_cast<double>(sum.examples);
  const auto percent_wrong = [&](int64_t correct) {
    return 100.0 * static_cast<double>(sum.examples - correct) / n;
  };
  Score score{sum.loss_sum / n, percent_wrong(sum.correct)};
  if (classes > 5) score.top5_error_percent = percent_wrong(sum.correct_top5);
  return score;
}

std::string ErrorText(const Score& score) {
  if (!score.top5_error_percent) {
    return fmt::format("error {:.2f}%", score.error_percent);
  }
  return fmt::format("error {:.2f}% (top-5 {:.2f}%)", score.error_percent,
                     *score.top5_error_percent);
}

Status TooManyBad(std::string_view what, int64_t bad, int64_t max_bad,
                  const Status& last) {
  return DataLoss(fmt::format(
      "{}: {} images could not be read, --max-bad allows {}; the last: {}",
      what, bad, max_bad, StdView(last.message())));
}

}  // namespace densenet
