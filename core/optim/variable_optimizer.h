// core/optim/variable_optimizer.h
//
// An Optimizer on the variables of a VariableStore. What it remembers of the
// variable "conv/weight" is the variable "conv/weight/velocity" of the same
// store, not trainable: saved, restored and listed with the others.
//
// Memory    the slots, from the store's resource, created at the first step of
//           a variable
// Errors    those of Tape::Gradients; ResourceExhausted for the slots
// Numerics  bitwise independent of threads
// Threads   one thread of control

#ifndef DENSENET_CORE_OPTIM_VARIABLE_OPTIMIZER_H_
#define DENSENET_CORE_OPTIM_VARIABLE_OPTIMIZER_H_

#include <memory>

#include "absl/types/span.h"
#include "core/autograd/variable_store.h"
#include "core/optim/optimizer.h"

namespace densenet {

class VariableOptimizer {
 public:
  // `store` must outlive the optimizer.
  static StatusOr<std::unique_ptr<VariableOptimizer>> Create(
      const OptimizerConfig& config, VariableStore& store);

  // Computes the gradients of `loss` and takes one step. Values on the tape
  // are those from before the step: Reset() it.
  Status Minimize(Tape& tape, Var loss, float learning_rate);
  // Takes one step with given gradients, clipped ones, say.
  Status Apply(absl::Span<const VariableGradient> gradients,
               float learning_rate);

  const Optimizer& optimizer() const { return *optimizer_; }

 private:
  VariableOptimizer(std::unique_ptr<Optimizer> optimizer, VariableStore& store)
      : optimizer_(std::move(optimizer)), store_(store) {}

  std::unique_ptr<Optimizer> optimizer_;
  VariableStore& store_;
};

}  // namespace densenet

#endif  // DENSENET_CORE_OPTIM_VARIABLE_OPTIMIZER_H_
