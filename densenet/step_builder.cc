#include "densenet/step_builder.h"

namespace densenet {

StepBuilder::StepBuilder(const Context& ctx, const ModelConfig& config,
                         const Network::Options& options, ParameterStore& store,
                         Schedule& schedule)
    : ctx_(ctx),
      config_(config),
      options_(options),
      store_(store),
      schedule_(schedule) {
  if (training()) traits_ = TraitsOf(options.strategy);
}

ParameterRef StepBuilder::Parameter(const std::string& name) {
  return ParameterRef(&store_, store_.IndexOf(name));
}

NormRef StepBuilder::Norm(const std::string& name) {
  NormRef norm;
  norm.gamma = Parameter(name + ".weight");
  norm.beta = Parameter(name + ".bias");
  norm.store = &store_;
  norm.running_mean_index = store_.StatisticIndexOf(name + ".running_mean");
  norm.running_var_index = store_.StatisticIndexOf(name + ".running_var");
  return norm;
}

}  // namespace densenet
