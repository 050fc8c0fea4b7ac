#include "densenet/plan_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace densenet {

std::string PlanTable(const Network& network) {
  const MemoryPlan& plan = network.plan();
  const std::vector<Task>& tasks = network.schedule().tasks();
  std::vector<PlannedBuffer> buffers(plan.buffers().begin(),
                                     plan.buffers().end());
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const PlannedBuffer& a, const PlannedBuffer& b) {
                     return a.first_use < b.first_use;
                   });
  std::string table = fmt::format("{:>12} {:>12} {:<10} {:<40} {}\n", "bytes",
                                  "offset", "kind", "buffer", "used");
  for (const PlannedBuffer& b : buffers) {
    table += fmt::format("{:>12} {:>12} {:<10} {:<40} {} {} - {} {}\n", b.bytes,
                         b.offset_bytes, Name(b.kind), b.name, b.first_use,
                         tasks[b.first_use].name, b.last_use,
                         tasks[b.last_use].name);
  }
  return table + fmt::format(
                     "{:>12} bytes of arena for {} buffers and {} tasks; {} "
                     "are alive together at the peak\n",
                     plan.arena_bytes(), buffers.size(), tasks.size(),
                     plan.floor_bytes());
}

StatusOr<std::string> PlanTable(const Context& ctx, const ModelConfig& model,
                                Strategy strategy, int64_t batch) {
  ASSIGN_OR_RETURN(auto layout,
                   ParameterStore::CreateLayout(ParameterSpecs(model),
                                                StatisticsSpecs(model)));
  ASSIGN_OR_RETURN(
      auto network,
      Network::Create(ctx, model, {Network::Mode::kTrain, strategy, batch},
                      *layout));
  return PlanTable(*network);
}

}  // namespace densenet
