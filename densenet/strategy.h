// densenet/strategy.h
//
// What a training step keeps from the forward pass for the backward pass, and
// what it computes again. docs/memory-model.md compares them. All give the
// same loss and statistics bit for bit, and the same gradients.

#ifndef DENSENET_DENSENET_STRATEGY_H_
#define DENSENET_DENSENET_STRATEGY_H_

#include <string_view>

#include "absl/types/span.h"
#include "core/status.h"

namespace densenet {

enum class Strategy {
  // As mainstream frameworks: every layer's concatenation, BN1/ReLU output,
  // bottleneck and BN2/ReLU output, and a gradient for each.
  kNaive,
  // One feature buffer per block in place of the concatenations.
  kSharedConcat,
  // The feature buffer and the bottlenecks; both batch norms and ReLUs are
  // computed again into one scratch that all layers share.
  kRecomputeBn,
};

absl::Span<const Strategy> AllStrategies();
std::string_view Name(Strategy strategy);
// Errors  InvalidArgument  unknown; the message lists the known
StatusOr<Strategy> ParseStrategy(std::string_view name);

}  // namespace densenet

#endif  // DENSENET_DENSENET_STRATEGY_H_
