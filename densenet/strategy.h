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
  // The feature buffer and the bottlenecks; batch norm and ReLU happen inside
  // the convolutions' packing, forward and backward.
  kFused,
  // The feature buffer alone: as fused, and the bottleneck is computed again.
  kFeaturesOnly,
};

// What makes a strategy; the modules ask these, never which strategy it is.
struct StrategyTraits {
  // Every reader of the features gets a concatenation of its own.
  bool copies_concatenation = false;
  // Normalized activations stand in memory: kept from forward to backward, or
  // computed again into shared scratch.
  bool materializes_normalized = false;
  bool keeps_normalized = false;
  // The bottleneck is kept from forward to backward.
  bool keeps_bottleneck = false;
  // The batch-norm correction of a feature channel's gradient is applied once,
  // by its producer; else by each reader, which stores a C-wide gradient.
  bool defers_correction = false;
};

absl::Span<const Strategy> AllStrategies();
std::string_view Name(Strategy strategy);
StrategyTraits TraitsOf(Strategy strategy);
// Errors  InvalidArgument  unknown; the message lists the known
StatusOr<Strategy> ParseStrategy(std::string_view name);

}  // namespace densenet

#endif  // DENSENET_DENSENET_STRATEGY_H_
