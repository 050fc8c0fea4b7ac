#include "densenet/verify.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "densenet/network.h"

namespace densenet {
namespace {

// What a training step leaves behind.
struct Outcome {
  double loss = 0;
  std::vector<float> gradients;
  std::vector<float> statistics;
  // Of the norms whose output the strategy materializes, by task: which
  // activations pass.
  std::map<std::string, std::vector<bool>> masks;
};

struct Setting {
  const Context& ctx;
  MemoryResource& memory;
  const ModelConfig& config;
  ConstTensorView images;
  absl::Span<const int32_t> labels;
  uint64_t seed;
};

void CollectMask(const Schedule& schedule, const MemoryPlan& plan,
                 int64_t index, Outcome* outcome) {
  const Task& task = schedule.tasks()[index];
  if (task.phase != "forward normalize") return;
  const BufferId z = task.buffers.back();
  const float* values = static_cast<const float*>(schedule.Address(z));
  const int64_t count = plan.buffers()[z.index].bytes / int64_t{sizeof(float)};
  std::vector<bool>& mask = outcome->masks[task.name];
  mask.resize(count);
  for (int64_t i = 0; i < count; ++i) mask[i] = values[i] > 0;
}

StatusOr<Outcome> RunStrategy(const Setting& s, Strategy strategy) {
  ASSIGN_OR_RETURN(auto store,
                   ParameterStore::Create(s.memory, ParameterSpecs(s.config),
                                          StatisticsSpecs(s.config),
                                          /*slots=*/0));
  store->Initialize(s.ctx, s.seed);
  ASSIGN_OR_RETURN(auto network, Network::Create(s.ctx, s.config,
                                                 {Network::Mode::kTrain,
                                                  strategy, s.images.dim(0)},
                                                 *store));
  ASSIGN_OR_RETURN(Arena arena,
                   Arena::Create(s.memory, network->plan().arena_bytes()));
  network->Bind(arena);
  Outcome outcome;
  Schedule& schedule = network->schedule();
  if (TraitsOf(strategy).keeps_normalized) {
    schedule.set_observer([&](int64_t task, double) {
      CollectMask(schedule, network->plan(), task, &outcome);
    });
  }
  ASSIGN_OR_RETURN(const BatchResult result,
                   network->TrainStep(s.images, s.labels, s.seed, 0));
  outcome.loss = result.loss_sum;
  const auto copy = [](absl::Span<const float> from) {
    return std::vector<float>(from.begin(), from.end());
  };
  outcome.gradients = copy(store->gradients());
  outcome.statistics = copy(store->statistics_values());
  return outcome;
}

double RelativeError(absl::Span<const float> a, absl::Span<const float> b) {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = double{a[i]} - b[i];
    difference += d * d;
    norm += double{b[i]} * b[i];
  }
  if (difference == 0) return 0;
  return std::sqrt(difference / norm);
}

VerifyRow Compare(const Outcome& other, const Outcome& naive) {
  VerifyRow row;
  row.loss_error = std::abs(other.loss - naive.loss) / std::abs(naive.loss);
  row.gradient_error = RelativeError(other.gradients, naive.gradients);
  row.statistics_error = RelativeError(other.statistics, naive.statistics);
  // NaN compares false: a run that diverged does not pass.
  row.passed = row.loss_error == 0 && row.statistics_error == 0 &&
               row.gradient_error <= kVerifyGradientBound;
  row.mask_flips = row.loss_error == 0 && row.statistics_error == 0 ? 0 : -1;
  return row;
}

// Flips between a run and one on the reversed batch.
int64_t CountFlips(const Outcome& naive, const Outcome& reversed,
                   int64_t images) {
  int64_t flips = 0;
  for (const auto& [name, mask] : naive.masks) {
    const std::vector<bool>& other = reversed.masks.at(name);
    const int64_t each = static_cast<int64_t>(mask.size()) / images;
    for (int64_t n = 0; n < images; ++n) {
      for (int64_t i = 0; i < each; ++i) {
        if (mask[n * each + i] != other[(images - 1 - n) * each + i]) ++flips;
      }
    }
  }
  return flips;
}

StatusOr<VerifyRow> NoiseFloor(const Setting& s, const Outcome& naive) {
  const int64_t n = s.images.dim(0);
  ASSIGN_OR_RETURN(Tensor images,
                   Tensor::Empty(s.memory, DType::kFloat32, s.images.shape()));
  const int64_t each = s.images.elems() / n;
  for (int64_t i = 0; i < n; ++i) {
    const float* from = s.images.data<float>() + (n - 1 - i) * each;
    std::copy(from, from + each, images.data<float>() + i * each);
  }
  const std::vector<int32_t> labels(s.labels.rbegin(), s.labels.rend());
  const Setting reversed{s.ctx,  s.memory, s.config, images.const_view(),
                         labels, s.seed};
  ASSIGN_OR_RETURN(const Outcome outcome,
                   RunStrategy(reversed, Strategy::kNaive));
  VerifyRow row = Compare(outcome, naive);
  row.strategy = "noise floor";
  row.mask_flips = CountFlips(naive, outcome, n);
  row.passed = true;
  return row;
}

Status AppendRows(const Setting& s, absl::Span<const Strategy> strategies,
                  bool noise_floor, std::vector<VerifyRow>* rows) {
  ASSIGN_OR_RETURN(const Outcome naive, RunStrategy(s, Strategy::kNaive));
  for (Strategy strategy : strategies) {
    ASSIGN_OR_RETURN(const Outcome outcome, RunStrategy(s, strategy));
    VerifyRow row = Compare(outcome, naive);
    row.strategy = Name(strategy);
    row.dropout = s.config.dropout;
    rows->push_back(row);
  }
  if (noise_floor) {
    ASSIGN_OR_RETURN(VerifyRow row, NoiseFloor(s, naive));
    rows->push_back(row);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<VerifyRow>> VerifyStrategies(
    const Context& ctx, MemoryResource& memory, ModelConfig config,
    absl::Span<const Strategy> strategies, double dropout,
    ConstTensorView images, absl::Span<const int32_t> labels, uint64_t seed) {
  std::vector<VerifyRow> rows;
  const Setting setting{ctx, memory, config, images, labels, seed};
  config.dropout = 0;
  RETURN_IF_ERROR(AppendRows(setting, strategies, /*noise_floor=*/true, &rows));
  if (dropout > 0) {
    config.dropout = dropout;
    RETURN_IF_ERROR(
        AppendRows(setting, strategies, /*noise_floor=*/false, &rows));
  }
  return rows;
}

}  // namespace densenet
