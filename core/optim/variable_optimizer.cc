#include "core/optim/variable_optimizer.h"

#include <glog/logging.h>

#include <utility>
#include <vector>

namespace densenet {
namespace {

absl::Span<float> Elements(Tensor& tensor) {
  return absl::MakeSpan(tensor.data<float>(), tensor.elems());
}

}  // namespace

StatusOr<std::unique_ptr<VariableOptimizer>> VariableOptimizer::Create(
    const OptimizerConfig& config, VariableStore& store) {
  ASSIGN_OR_RETURN(std::unique_ptr<Optimizer> optimizer,
                   Optimizer::Create(config));
  return std::unique_ptr<VariableOptimizer>(
      new VariableOptimizer(std::move(optimizer), store));
}

Status VariableOptimizer::Minimize(Tape& tape, Var loss, float learning_rate) {
  ASSIGN_OR_RETURN(const std::vector<VariableGradient> gradients,
                   store_.Gradients(tape, {loss}));
  return Apply(gradients, learning_rate);
}

Status VariableOptimizer::Apply(absl::Span<const VariableGradient> gradients,
                                float learning_rate) {
  for (const VariableGradient& g : gradients) {
    CHECK(g.gradient.shape() == g.variable->value.shape()) << g.variable->name;
    const Scope scope = store_.scope(Reuse::kCreateOrReuse) / g.variable->name;
    std::vector<absl::Span<float>> slots;
    for (int i = 0; i < optimizer_->slots(); ++i) {
      ASSIGN_OR_RETURN(
          Variable * slot,
          scope.Get(optimizer_->slot_name(i), g.variable->value.shape(),
                    Initializer::Constant(0.0), /*trainable=*/false));
      slots.push_back(Elements(slot->value));
    }
    optimizer_->Update(
        store_.ctx(), learning_rate, Elements(g.variable->value),
        absl::MakeConstSpan(g.gradient.data<float>(), g.gradient.elems()),
        slots);
  }
  return OkStatus();
}

}  // namespace densenet
