#include "densenet/inference.h"

#include <utility>

namespace densenet {

StatusOr<std::unique_ptr<Inference>> Inference::Create(
    const Context& context, MemoryResource& memory,
    const Checkpoint& checkpoint, int64_t max_batch) {
  const ModelConfig& model = checkpoint.info().model;
  std::unique_ptr<Inference> inference(new Inference);
  ASSIGN_OR_RETURN(inference->store_,
                   ParameterStore::Create(memory, ParameterSpecs(model),
                                          StatisticsSpecs(model), /*slots=*/0));
  RETURN_IF_ERROR(checkpoint.ReadNetwork(*inference->store_));
  Network::Options options;
  options.mode = Network::Mode::kEvaluate;
  options.max_batch = max_batch;
  ASSIGN_OR_RETURN(inference->network_, Network::Create(context, model, options,
                                                        *inference->store_));
  ASSIGN_OR_RETURN(
      Arena arena,
      Arena::Create(memory, inference->network_->plan().arena_bytes()));
  inference->arena_.emplace(std::move(arena));
  inference->network_->Bind(*inference->arena_);
  return inference;
}

}  // namespace densenet
