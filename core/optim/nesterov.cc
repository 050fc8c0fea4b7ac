#include "core/optim/nesterov.h"

#include <glog/logging.h>

namespace densenet {
namespace {

class Nesterov : public Optimizer {
 public:
  explicit Nesterov(const OptimizerConfig& config) : Optimizer(config) {}

  int slots() const override { return 1; }
  std::string_view slot_name(int i) const override {
    CHECK_EQ(i, 0);
    return "velocity";
  }

 private:
  void UpdateChunk(float learning_rate, int64_t count, float* value,
                   const float* gradient,
                   absl::Span<float* const> slots) const override {
    const float mu = config().momentum;
    const float decay = config().weight_decay;
    float* __restrict__ w = value;
    float* __restrict__ v = slots[0];
    const float* __restrict__ dw = gradient;
    for (int64_t i = 0; i < count; ++i) {
      const float g = dw[i] + decay * w[i];
      v[i] = mu * v[i] + g;
      w[i] -= learning_rate * (g + mu * v[i]);
    }
  }
};

}  // namespace

std::unique_ptr<Optimizer> CreateNesterov(const OptimizerConfig& config) {
  return std::make_unique<Nesterov>(config);
}

}  // namespace densenet
