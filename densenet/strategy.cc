#include "densenet/strategy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace densenet {
namespace {

constexpr Strategy kAll[] = {Strategy::kNaive, Strategy::kSharedConcat,
                             Strategy::kRecomputeBn};

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
  }
  return "unknown";
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
