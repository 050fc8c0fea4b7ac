#include "densenet/strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace densenet {
namespace {

constexpr Strategy kAll[] = {Strategy::kNaive, Strategy::kSharedConcat,
                             Strategy::kRecomputeBn, Strategy::kFused,
                             Strategy::kFeaturesOnly};

}  // namespace

absl::Span<const Strategy> AllStrategies() { return kAll; }

std::string_view Name(Strategy strategy) {
  switch (strategy) {
    case Strategy::kNaive:
      return "naive";
    case Strategy::kSharedConcat:
      return "shared-concat";
    case Strategy::kRecomputeBn:
      return "recompute-bn";
    case Strategy::kFused:
      return "fused";
    case Strategy::kFeaturesOnly:
      return "features-only";
  }
  return "unknown";
}

StrategyTraits TraitsOf(Strategy strategy) {
  StrategyTraits traits;
  traits.copies_concatenation = strategy == Strategy::kNaive;
  traits.keeps_normalized =
      strategy == Strategy::kNaive || strategy == Strategy::kSharedConcat;
  traits.materializes_normalized =
      traits.keeps_normalized || strategy == Strategy::kRecomputeBn;
  traits.keeps_bottleneck = strategy != Strategy::kFeaturesOnly;
  traits.defers_correction = !traits.materializes_normalized;
  return traits;
}

StatusOr<Strategy> ParseStrategy(std::string_view name) {
  std::vector<std::string_view> known;
  for (Strategy strategy : kAll) {
    if (Name(strategy) == name) return strategy;
    known.push_back(Name(strategy));
  }
  return InvalidArgument(
      fmt::format("unknown strategy '{}': expected one of {}", name,
                  fmt::join(known, ", ")));
}

}  // namespace densenet
