// core/optim/optimizer.h
//
// Turns gradients into new values. An optimizer keeps no state of its own: what
// it remembers of a parameter are `slots`, arrays as long as the parameter,
// that the caller owns, zero-fills before the first step, saves and restores
// under their names. The same optimizer thus serves single tensors and a flat
// array of all parameters.
//
// Shapes    value, gradient and every slot have the same number of elements
// Types     float32, host memory
// Memory    none
// Errors    of Create: InvalidArgument names the unknown optimizer and those
//           there are, or the setting outside its range
// Numerics  every element on its own: bitwise independent of threads and of
//           how parameters are grouped into arrays
// Threads   Update runs on ctx.threads(); an Optimizer may be shared

#ifndef DENSENET_CORE_OPTIM_OPTIMIZER_H_
#define DENSENET_CORE_OPTIM_OPTIMIZER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/status.h"

namespace densenet {

struct OptimizerConfig {
  std::string name = "nesterov";  // one of OptimizerNames()
  float momentum = 0.9f;          // of the velocity; unused by "sgd"
  // Adds weight_decay / 2 * |value|^2 to the loss, that is
  // weight_decay * value to the gradient, before anything else.
  float weight_decay = 0.0f;
};

class Optimizer {
 public:
  static StatusOr<std::unique_ptr<Optimizer>> Create(
      const OptimizerConfig& config);

  virtual ~Optimizer() = default;

  const OptimizerConfig& config() const { return config_; }
  virtual int slots() const = 0;
  // For 0 <= i < slots(): "velocity".
  virtual std::string_view slot_name(int i) const = 0;

  // One step. CHECKs the lengths and the number of slots.
  void Update(const Context& ctx, float learning_rate, absl::Span<float> value,
              absl::Span<const float> gradient,
              absl::Span<const absl::Span<float>> slots) const;

 protected:
  explicit Optimizer(const OptimizerConfig& config) : config_(config) {}

  // Updates `count` elements; slots[i] points at the matching elements.
  virtual void UpdateChunk(float learning_rate, int64_t count, float* value,
                           const float* gradient,
                           absl::Span<float* const> slots) const = 0;

 private:
  OptimizerConfig config_;
};

// The names that Create accepts, in the order of their listing.
std::vector<std::string> OptimizerNames();

}  // namespace densenet

#endif  // DENSENET_CORE_OPTIM_OPTIMIZER_H_
