// The planned network against a float64 DenseNet that shares no code with it.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "core/random.h"
#include "densenet/network.h"
#include "memory/host_memory.h"
#include "tests/densenet/reference_densenet.h"
#include "tests/support/compare.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using testing::ReferenceInput;
using testing::ReferenceOutput;
using testing::TestTensor;

constexpr uint64_t kSeed = 21;
constexpr uint32_t kStep = 4;
// The bar for the gradients of a whole network in float32, masks replayed.
constexpr double kGradientBar = 1e-5;

struct NamedConfig {
  std::string name;
  ModelConfig config;
  int64_t images = 4;
};
void PrintTo(const NamedConfig& c, std::ostream* out) { *out << c.name; }

std::vector<NamedConfig> Configs() {
  ModelConfig small;
  small.block_config = {3, 2, 2};
  small.growth_rate = 5;
  small.stem_channels = 7;
  small.image_height = 9;
  small.image_width = 10;
  std::vector<NamedConfig> cases = {{"bottleneck", small}};
  ModelConfig c = small;
  c.bottleneck = false;
  c.compression = 1;
  cases.push_back({"basic", c});
  c.dropout = 0.25;
  cases.push_back({"basic_dropout", c});
  c = small;
  c.dropout = 0.2;
  cases.push_back({"bottleneck_dropout", c});
  c = small;
  c.stem = Stem::kImageNet;
  c.image_height = 35;
  c.image_width = 30;
  c.block_config = {2, 2};
  cases.push_back({"image_net_stem", c});
  return cases;
}

class NetworkReferenceTest : public ::testing::TestWithParam<NamedConfig> {
 protected:
  using Masks = std::map<std::string, std::vector<uint8_t>>;

  // Runs one step; fills the masks where the strategy shows them.
  void RunStep(Strategy strategy, Masks* masks, bool frozen = false) {
    const ModelConfig& config = GetParam().config;
    const int64_t images = GetParam().images;
    auto ctx = Context::Create({.threads = 2});
    ASSERT_TRUE(ctx.ok());
    HostMemory memory;
    auto store = ParameterStore::Create(memory, ParameterSpecs(config),
                                        StatisticsSpecs(config), 0);
    ASSERT_TRUE(store.ok());
    (*store)->Initialize(**ctx, 3);
    Perturb(**store);
    PerturbStatistics(**store);
    Network::Options options;
    options.strategy = strategy;
    options.max_batch = images;
    options.frozen_statistics = frozen;
    options.label_smoothing = input_.label_smoothing;
    options.class_weights.assign(input_.class_weights.begin(),
                                 input_.class_weights.end());
    auto network = Network::Create(**ctx, config, options, **store);
    ASSERT_TRUE(network.ok()) << network.status();
    auto arena = Arena::Create(memory, (*network)->plan().arena_bytes());
    ASSERT_TRUE(arena.ok());
    (*network)->Bind(*arena);
    Schedule& schedule = (*network)->schedule();
    if (masks != nullptr) {
      schedule.set_observer(
          [&](int64_t task, double) { Collect(schedule, task, masks); });
    }
    const TestTensor x =
        TestTensor::Random({images, config.image_height, config.image_width,
                            config.image_channels},
                           17);
    input_.config = config;
    input_.images = images;
    input_.pixels = x.ToDoubles();
    input_.seed = kSeed;
    input_.step = kStep;
    input_.labels.clear();
    for (int64_t i = 0; i < images; ++i) {
      input_.labels.push_back(static_cast<int32_t>(i % config.classes));
    }
    for (size_t i = 0; i < (*store)->parameters().size(); ++i) {
      input_.parameters[(*store)->parameters()[i].name] =
          testing::ToVector((*store)->value(static_cast<int64_t>(i)));
    }
    statistics_.clear();
    for (size_t i = 0; i < (*store)->statistics().size(); ++i) {
      statistics_[(*store)->statistics()[i].name] =
          testing::ToVector((*store)->statistic(static_cast<int64_t>(i)));
    }
    const std::vector<float> before((*store)->statistics_values().begin(),
                                    (*store)->statistics_values().end());
    auto result =
        (*network)->TrainStep(x.const_view(), input_.labels, kSeed, kStep);
    ASSERT_TRUE(result.ok()) << result.status();
    const std::vector<float> after((*store)->statistics_values().begin(),
                                   (*store)->statistics_values().end());
    EXPECT_EQ(before == after, frozen);
    loss_ = result->loss_sum / static_cast<double>(images);
    gradients_.clear();
    for (size_t i = 0; i < (*store)->parameters().size(); ++i) {
      gradients_[(*store)->parameters()[i].name] =
          testing::ToVector((*store)->gradient(static_cast<int64_t>(i)));
    }
  }

  // Running statistics away from 0 and 1 likewise.
  static void PerturbStatistics(ParameterStore& store) {
    absl::Span<float> values = store.statistics_values();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] += 0.2f * UniformFloat(RandomBits({10, 0, 0}, i));
    }
  }

  // Batch norms away from gamma = 1 and beta = 0, so that a term that they
  // would hide shows.
  static void Perturb(ParameterStore& store) {
    for (size_t i = 0; i < store.parameters().size(); ++i) {
      if (store.parameters()[i].name.find("norm") == std::string::npos) {
        continue;
      }
      TensorView v = store.value(static_cast<int64_t>(i));
      for (int64_t j = 0; j < v.elems(); ++j) {
        v.data<float>()[j] +=
            0.4f * UniformFloat(RandomBits({9, 0, static_cast<uint32_t>(i)},
                                           static_cast<uint64_t>(j))) -
            0.2f;
      }
    }
  }

  // The naive strategy materializes z behind every norm: "<norm>.normalize".
  static void Collect(const Schedule& schedule, int64_t index, Masks* masks) {
    const Task& task = schedule.tasks()[index];
    const std::string suffix = ".normalize";
    if (task.phase != "forward normalize") return;
    const std::string norm =
        task.name.substr(0, task.name.size() - suffix.size());
    const MemoryPlan plan = schedule.Plan();
    const BufferId z = task.buffers.back();
    const float* values = static_cast<const float*>(schedule.Address(z));
    const int64_t count =
        plan.buffers()[z.index].bytes / int64_t{sizeof(float)};
    std::vector<uint8_t>& mask = (*masks)[norm];
    for (int64_t i = 0; i < count; ++i) mask.push_back(values[i] > 0);
  }

  static std::vector<double> Flat(
      const std::map<std::string, std::vector<double>>& parts) {
    std::vector<double> flat;
    for (const auto& [name, values] : parts) {
      flat.insert(flat.end(), values.begin(), values.end());
    }
    return flat;
  }

  static double Norm(const std::vector<double>& v) {
    return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
  }

  ReferenceInput input_;
  double loss_ = 0;
  std::map<std::string, std::vector<double>> statistics_;
  std::map<std::string, std::vector<double>> gradients_;
};

TEST_P(NetworkReferenceTest, GradientsWithReplayedMasks) {
  Masks masks;
  RunStep(Strategy::kNaive, &masks);
  if (HasFatalFailure()) return;
  input_.masks = &masks;
  const ReferenceOutput expected = testing::ReferenceStep(input_);
  EXPECT_NEAR(loss_, expected.loss, kGradientBar * expected.loss);
  EXPECT_LE(testing::RelativeNorm(Flat(gradients_), Flat(expected.gradients)),
            kGradientBar);
  // Each parameter on its own: a small one cannot hide behind a large one,
  // unless its gradient is nothing but cancelled terms, as that of a scale in
  // front of another batch norm.
  constexpr double kSingleBar = 20 * kGradientBar;
  const double all = Norm(Flat(expected.gradients));
  for (const auto& [name, gradient] : gradients_) {
    const std::vector<double>& want = expected.gradients.at(name);
    EXPECT_LE(testing::RelativeNorm(gradient, want) * Norm(want),
              kSingleBar * Norm(want) + kGradientBar / 10 * all)
        << name;
  }
  RecordProperty("mask_flips", static_cast<int>(expected.flips));
  // Few activations are so near zero that rounding decides.
  EXPECT_LE(expected.flips, expected.activations / 1000);

  for (Strategy strategy : AllStrategies()) {
    RunStep(strategy, nullptr);
    EXPECT_LE(testing::RelativeNorm(Flat(gradients_), Flat(expected.gradients)),
              kGradientBar)
        << Name(strategy);
  }
}

TEST_P(NetworkReferenceTest, FrozenStatisticsAreConstants) {
  Masks masks;
  RunStep(Strategy::kNaive, &masks, /*frozen=*/true);
  if (HasFatalFailure()) return;
  input_.masks = &masks;
  input_.frozen = &statistics_;
  const ReferenceOutput expected = testing::ReferenceStep(input_);
  for (Strategy strategy : AllStrategies()) {
    RunStep(strategy, nullptr, /*frozen=*/true);
    EXPECT_NEAR(loss_, expected.loss, kGradientBar * expected.loss);
    EXPECT_LE(testing::RelativeNorm(Flat(gradients_), Flat(expected.gradients)),
              kGradientBar)
        << Name(strategy);
  }
}

TEST_P(NetworkReferenceTest, WeightedClassesAndSmoothedLabels) {
  input_.label_smoothing = 0.1;
  for (int64_t c = 0; c < GetParam().config.classes; ++c) {
    input_.class_weights.push_back(0.25 * static_cast<double>(c));
  }
  Masks masks;
  RunStep(Strategy::kNaive, &masks);
  if (HasFatalFailure()) return;
  input_.masks = &masks;
  const ReferenceOutput expected = testing::ReferenceStep(input_);
  const double naive_loss = loss_;
  for (Strategy strategy : AllStrategies()) {
    RunStep(strategy, nullptr);
    EXPECT_EQ(loss_, naive_loss) << Name(strategy);
    EXPECT_NEAR(loss_, expected.loss, kGradientBar * expected.loss);
    EXPECT_LE(testing::RelativeNorm(Flat(gradients_), Flat(expected.gradients)),
              kGradientBar)
        << Name(strategy);
  }
}

TEST_P(NetworkReferenceTest, GradientsWithoutReplay) {
  RunStep(Strategy::kNaive, nullptr);
  if (HasFatalFailure()) return;
  const ReferenceOutput expected = testing::ReferenceStep(input_);
  // A flipped mask moves the gradients, not their nature.
  constexpr double kFlippedBar = 5e-2;
  EXPECT_LE(testing::RelativeNorm(Flat(gradients_), Flat(expected.gradients)),
            kFlippedBar);
}

INSTANTIATE_TEST_SUITE_P(Configs, NetworkReferenceTest,
                         ::testing::ValuesIn(Configs()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace densenet
