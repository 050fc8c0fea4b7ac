#include "densenet/checkpoint_evaluation.h"

#include <memory>

#include "densenet/data/batch_loader.h"
#include "densenet/inference.h"
#include "densenet/training_data.h"

namespace densenet {

StatusOr<std::optional<Evaluation>> EvaluateCheckpoint(
    const Context& ctx, MemoryResource& memory, const Checkpoint& checkpoint,
    const BatchSource& source, int64_t ahead, int workers, int64_t max_bad,
    const EvaluationProgress& progress) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<BatchLoader> loader,
      BatchLoader::Create(
          &source,
          {.ahead = ahead,
           .workers = LoaderWorkers(workers, source, ctx.threads().threads()),
           .across_epochs = false},
          memory));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Inference> inference,
      Inference::Create(ctx, memory, checkpoint, source.BatchExamples(0)));
  return Evaluate(inference->network(), *loader, progress, max_bad);
}

}  // namespace densenet
