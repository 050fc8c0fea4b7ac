#include "densenet/step_builder.h"

#include <algorithm>
#include <cmath>

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

void StepBuilder::SetOutputOfLast(RowsRef y, int64_t pixels, int64_t channels) {
  schedule_.SetFiniteOfLast([y, pixels, channels](const Step& step) {
    const float* row = y.At(step);
    for (int64_t i = 0; i < step.images * pixels; ++i, row += y.ld) {
      if (!std::all_of(row, row + channels,
                       [](float v) { return std::isfinite(v); })) {
        return false;
      }
    }
    return true;
  });
}

void StepBuilder::AddGradientsReadyTask(const std::string& parameter) {
  GradientListener* const listener = options_.listener;
  if (listener == nullptr) return;
  const int64_t from = store_.OffsetOf(store_.IndexOf(parameter));
  Add(parameter + ".ready", "backward gradients out", {},
      [this, listener, from](const Step&) {
        listener->GradientsReady(ctx_, from);
        return OkStatus();
      });
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
