#include "densenet/step_benchmark.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "core/cpu/gemm_rate.h"
#include "core/optim/optimizer.h"
#include "densenet/network.h"
#include "densenet/synthetic_batch.h"

namespace densenet {
namespace {

constexpr double kGemmSeconds = 0.02;
constexpr float kLearningRate = 0.01f;

double Median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// One strategy's network with everything a training step needs.
class Contestant {
 public:
  static StatusOr<std::unique_ptr<Contestant>> Create(
      const Context& ctx, MemoryResource& memory,
      const StepBenchmarkOptions& options, Strategy strategy);

  // Forward, backward, update.
  Status Step(const Context& ctx, const SyntheticBatch& batch, bool record);
  StepBenchmarkRow Row(const StepBenchmarkOptions& options) const;

 private:
  Strategy strategy_ = Strategy::kFused;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Network> network_;
  std::optional<Arena> arena_;
  int64_t planned_bytes_ = 0;
  uint32_t step_ = 0;
  std::vector<double> seconds_;
  std::map<std::string, double> this_step_;
  std::map<std::string, std::vector<double>> phases_;
};

StatusOr<std::unique_ptr<Contestant>> Contestant::Create(
    const Context& ctx, MemoryResource& memory,
    const StepBenchmarkOptions& options, Strategy strategy) {
  auto c = std::make_unique<Contestant>();
  c->strategy_ = strategy;
  ASSIGN_OR_RETURN(c->optimizer_, Optimizer::Create({.name = "nesterov"}));
  const int64_t before = memory.stats().active_bytes;
  ASSIGN_OR_RETURN(c->store_,
                   ParameterStore::Create(memory, ParameterSpecs(options.model),
                                          StatisticsSpecs(options.model),
                                          c->optimizer_->slots()));
  c->store_->Initialize(ctx, options.seed);
  ASSIGN_OR_RETURN(c->network_, Network::Create(ctx, options.model,
                                                {Network::Mode::kTrain,
                                                 strategy, options.batch},
                                                *c->store_));
  ASSIGN_OR_RETURN(Arena arena,
                   Arena::Create(memory, c->network_->plan().arena_bytes()));
  c->arena_ = std::move(arena);
  c->network_->Bind(*c->arena_);
  c->planned_bytes_ = memory.stats().active_bytes - before;
  Contestant* self = c.get();
  c->network_->schedule().set_observer([self](int64_t task, double seconds) {
    self->this_step_[self->network_->schedule().tasks()[task].phase] += seconds;
  });
  return c;
}

Status Contestant::Step(const Context& ctx, const SyntheticBatch& batch,
                        bool record) {
  this_step_.clear();
  const auto begin = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(
      const BatchResult result,
      network_->TrainStep(batch.images(), batch.labels(), 0, step_++));
  (void)result;
  const auto update = std::chrono::steady_clock::now();
  std::vector<absl::Span<float>> slots;
  for (int i = 0; i < store_->slots(); ++i) slots.push_back(store_->slot(i));
  optimizer_->Update(ctx, kLearningRate, store_->values(), store_->gradients(),
                     slots);
  const auto end = std::chrono::steady_clock::now();
  this_step_["update"] = std::chrono::duration<double>(end - update).count();
  if (!record) return OkStatus();
  seconds_.push_back(std::chrono::duration<double>(end - begin).count());
  for (const auto& [phase, seconds] : this_step_) {
    phases_[phase].push_back(seconds);
  }
  return OkStatus();
}

StepBenchmarkRow Contestant::Row(const StepBenchmarkOptions& options) const {
  constexpr double kGiga = 1e9;
  constexpr double kOperationsPerMultiplyAdd = 6;
  StepBenchmarkRow row;
  row.strategy = strategy_;
  row.median_seconds = Median(seconds_);
  row.fastest_seconds = *std::min_element(seconds_.begin(), seconds_.end());
  row.slowest_seconds = *std::max_element(seconds_.begin(), seconds_.end());
  row.images_per_second =
      static_cast<double>(options.batch) / row.median_seconds;
  row.useful_gflops = kOperationsPerMultiplyAdd *
                      static_cast<double>(MultiplyAdds(options.model)) *
                      row.images_per_second / kGiga;
  row.planned_bytes = planned_bytes_;
  for (const auto& [phase, seconds] : phases_) {
    row.phases.push_back({phase, Median(seconds)});
  }
  std::stable_sort(row.phases.begin(), row.phases.end(),
                   [](const PhaseTime& a, const PhaseTime& b) {
                     return a.seconds > b.seconds;
                   });
  return row;
}

}  // namespace

StatusOr<std::vector<StepBenchmarkRow>> RunStepBenchmark(
    const Context& ctx, MemoryResource& memory,
    const StepBenchmarkOptions& options) {
  if (options.steps < 1) {
    return InvalidArgument("benchmark of no steps: expected 1 or more");
  }
  ASSIGN_OR_RETURN(const SyntheticBatch batch,
                   SyntheticBatch::Create(memory, options.model, options.batch,
                                          options.seed));
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (Strategy strategy : options.strategies) {
    ASSIGN_OR_RETURN(auto contestant,
                     Contestant::Create(ctx, memory, options, strategy));
    contestants.push_back(std::move(contestant));
  }
  std::vector<double> gemm;
  for (int64_t s = 0; s < options.warm_up_steps + options.steps; ++s) {
    const bool record = s >= options.warm_up_steps;
    for (auto& contestant : contestants) {
      RETURN_IF_ERROR(contestant->Step(ctx, batch, record));
    }
    if (record) gemm.push_back(MeasureGemmRate(ctx, kGemmSeconds));
  }
  std::vector<StepBenchmarkRow> rows;
  for (const auto& contestant : contestants) {
    StepBenchmarkRow row = contestant->Row(options);
    row.gemm_gflops = Median(gemm);
    row.share_of_gemm = row.useful_gflops / row.gemm_gflops;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace densenet
