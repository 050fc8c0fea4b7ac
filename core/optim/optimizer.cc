#include "core/optim/optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>

#include <array>
#include <limits>

#include "core/cpu/chunks.h"
#include "core/optim/momentum.h"
#include "core/optim/nesterov.h"
#include "core/optim/sgd.h"

namespace densenet {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Optimizer> (*create)(const OptimizerConfig&);
};

constexpr Entry kOptimizers[] = {
    {"sgd", CreateSgd},
    {"momentum", CreateMomentum},
    {"nesterov", CreateNesterov},
};

// More slots than any method needs; keeps Update free of allocations.
constexpr int kMaxSlots = 4;

// Elements that are worth handing to a thread: 64 KiB of each array.
constexpr int64_t kChunkElems = 16384;

Status CheckConfig(const OptimizerConfig& config) {
  if (!(config.momentum >= 0.0f && config.momentum < 1.0f)) {
    return InvalidArgument(
        fmt::format("optimizer {}: momentum is {}, expected 0 <= momentum < 1",
                    config.name, config.momentum));
  }
  if (!(config.weight_decay >= 0.0f && config.weight_decay < 1.0f)) {
    return InvalidArgument(fmt::format(
        "optimizer {}: weight_decay is {}, expected 0 <= weight_decay < 1",
        config.name, config.weight_decay));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<Optimizer>> Optimizer::Create(
    const OptimizerConfig& config) {
  for (const Entry& entry : kOptimizers) {
    if (entry.name != config.name) continue;
    RETURN_IF_ERROR(CheckConfig(config));
    std::unique_ptr<Optimizer> optimizer = entry.create(config);
    CHECK_LE(optimizer->slots(), kMaxSlots);
    return optimizer;
  }
  return InvalidArgument(fmt::format("unknown optimizer '{}': expected {}",
                                     config.name,
                                     fmt::join(OptimizerNames(), ", ")));
}

void Optimizer::Update(const Context& ctx, float learning_rate,
                       absl::Span<float> value,
                       absl::Span<const float> gradient,
                       absl::Span<const absl::Span<float>> slots) const {
  const size_t count = value.size();
  CHECK_EQ(gradient.size(), count);
  CHECK_EQ(slots.size(), static_cast<size_t>(this->slots()));
  for (const absl::Span<float>& slot : slots) CHECK_EQ(slot.size(), count);
  const FixedChunks chunks(static_cast<int64_t>(count), kChunkElems,
                           std::numeric_limits<int64_t>::max());
  ParallelForChunks(
      ctx.threads(), chunks, [&](const Chunk& chunk, int64_t, int) {
        std::array<float*, kMaxSlots> at{};
        for (size_t i = 0; i < slots.size(); ++i) {
          at[i] = slots[i].data() + chunk.begin;
        }
        UpdateChunk(learning_rate, chunk.size(), value.data() + chunk.begin,
                    gradient.data() + chunk.begin,
                    absl::MakeConstSpan(at.data(), slots.size()));
      });
}

std::vector<std::string> OptimizerNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kOptimizers) names.emplace_back(entry.name);
  return names;
}

}  // namespace densenet
