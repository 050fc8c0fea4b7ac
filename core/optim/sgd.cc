#include "core/optim/sgd.h"

namespace densenet {
namespace {

class Sgd : public Optimizer {
 public:
  explicit Sgd(const OptimizerConfig& config) : Optimizer(config) {}

  int slots() const override { return 0; }
  std::string_view slot_name(int) const override { return {}; }

 private:
  void UpdateChunk(float learning_rate, int64_t count, float* value,
                   const float* gradient,
                   absl::Span<float* const>) const override {
    const float decay = config().weight_decay;
    float* __restrict__ w = value;
    const float* __restrict__ dw = gradient;
    for (int64_t i = 0; i < count; ++i) {
      const float g = dw[i] + decay * w[i];
      w[i] -= learning_rate * g;
    }
  }
};

}  // namespace

std::unique_ptr<Optimizer> CreateSgd(const OptimizerConfig& config) {
  return std::make_unique<Sgd>(config);
}

}  // namespace densenet
