#include "densenet/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/random.h"
#include "memory/host_memory.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::testing::HasSubstr;
using testing::TestTensor;

// Everything that a training step leaves behind.
struct StepOutcome {
  BatchResult result;
  std::vector<double> gradients;
  std::vector<double> statistics;
  std::vector<double> logits;
  int64_t measured_bytes = 0;
  int64_t planned_bytes = 0;
};

std::vector<double> ToDoubles(absl::Span<const float> values) {
  return {values.begin(), values.end()};
}

// One or more training steps on random images from explicit seeds.
StepOutcome RunSteps(const ModelConfig& config, Strategy strategy,
                     int64_t images, int threads, int steps = 1,
                     int64_t max_batch = 0) {
  auto ctx = Context::Create({.threads = threads});
  CHECK(ctx.ok());
  HostMemory parameters_memory;
  HostMemory memory;
  auto store = ParameterStore::Create(parameters_memory, ParameterSpecs(config),
                                      StatisticsSpecs(config), /*slots=*/0);
  CHECK(store.ok());
  (*store)->Initialize(**ctx, 7);
  Network::Options options;
  options.strategy = strategy;
  options.max_batch = max_batch > 0 ? max_batch : images;
  auto network = Network::Create(**ctx, config, options, **store);
  CHECK(network.ok()) << network.status();
  StepOutcome outcome;
  {
    auto arena = Arena::Create(memory, (*network)->plan().arena_bytes());
    CHECK(arena.ok());
    (*network)->Bind(*arena);
    (*network)->schedule().set_poison(true);
    const TestTensor x =
        TestTensor::Random({images, config.image_height, config.image_width,
                            config.image_channels},
                           11);
    std::vector<int32_t> labels(images);
    for (int64_t i = 0; i < images; ++i) {
      labels[i] = static_cast<int32_t>((3 * i + 1) % config.classes);
    }
    for (int s = 0; s < steps; ++s) {
      auto result = (*network)->TrainStep(x.const_view(), labels, /*seed=*/5,
                                          static_cast<uint32_t>(s));
      CHECK(result.ok()) << result.status();
      outcome.result = *result;
    }
    outcome.measured_bytes = memory.stats().peak_bytes;
  }
  outcome.planned_bytes = (*network)->plan().arena_bytes();
  outcome.gradients = ToDoubles((*store)->gradients());
  outcome.statistics = ToDoubles((*store)->statistics_values());
  return outcome;
}

struct NamedConfig {
  std::string name;
  ModelConfig config;
  int64_t images = 3;
};
void PrintTo(const NamedConfig& c, std::ostream* out) { *out << c.name; }

ModelConfig SmallConfig() {
  ModelConfig config;
  config.block_config = {3, 2, 2};
  config.growth_rate = 4;
  config.stem_channels = 8;
  config.image_height = 9;
  config.image_width = 8;
  return config;
}

std::vector<NamedConfig> Configs() {
  std::vector<NamedConfig> cases;
  cases.push_back({"bottleneck", SmallConfig()});
  ModelConfig c = SmallConfig();
  c.bottleneck = false;
  c.compression = 1;
  cases.push_back({"basic", c});
  c.dropout = 0.2;
  cases.push_back({"basic_dropout", c});
  c = SmallConfig();
  c.dropout = 0.3;
  cases.push_back({"bottleneck_dropout", c});
  c = SmallConfig();
  c.growth_rate = 1;
  cases.push_back({"growth1", c});
  c.growth_rate = 5;
  c.image_channels = 1;
  cases.push_back({"growth5_gray", c});
  c = SmallConfig();
  c.growth_rate = 48;
  c.block_config = {2, 2};
  cases.push_back({"growth48_wide", c});
  c = SmallConfig();
  c.block_config = {2, 3};
  c.image_height = 2;
  c.image_width = 3;
  cases.push_back({"last_block_1x1", c, 5});
  cases.push_back({"one_image", SmallConfig(), 1});
  cases.push_back({"many_chunks", SmallConfig(), 19});
  c = SmallConfig();
  c.stem = Stem::kImageNet;
  c.image_height = 33;
  c.image_width = 35;
  c.block_config = {2, 2};
  cases.push_back({"image_net_stem", c});
  return cases;
}

class StrategiesTest : public ::testing::TestWithParam<NamedConfig> {};

TEST_P(StrategiesTest, ForwardIsBitwiseEqualAndGradientsAgree) {
  const NamedConfig& c = GetParam();
  const StepOutcome naive = RunSteps(c.config, Strategy::kNaive, c.images, 2);
  ASSERT_TRUE(std::isfinite(naive.result.loss_sum));
  StepOutcome fused;
  for (Strategy strategy : AllStrategies()) {
    SCOPED_TRACE(std::string(Name(strategy)));
    const StepOutcome other = RunSteps(c.config, strategy, c.images, 2);
    EXPECT_EQ(other.result.loss_sum, naive.result.loss_sum);
    EXPECT_EQ(other.result.correct, naive.result.correct);
    EXPECT_EQ(other.statistics, naive.statistics);
    // The order of sums differs between the families, and only there.
    if (!TraitsOf(strategy).defers_correction) {
      EXPECT_EQ(other.gradients, naive.gradients);
      continue;
    }
    constexpr double kAcrossFamilies = 1e-5;
    EXPECT_LE(testing::RelativeNorm(other.gradients, naive.gradients),
              kAcrossFamilies);
    if (strategy == Strategy::kFused) {
      fused = other;
    } else {
      EXPECT_EQ(other.gradients, fused.gradients);
    }
  }
}

TEST_P(StrategiesTest, ThreadsDoNotChangeABit) {
  const NamedConfig& c = GetParam();
  for (Strategy strategy : AllStrategies()) {
    const StepOutcome one = RunSteps(c.config, strategy, c.images, 1, 2);
    for (int threads : {2, 3}) {
      const StepOutcome more =
          RunSteps(c.config, strategy, c.images, threads, 2);
      EXPECT_EQ(more.result.loss_sum, one.result.loss_sum);
      EXPECT_EQ(more.gradients, one.gradients);
      EXPECT_EQ(more.statistics, one.statistics);
    }
  }
}

TEST_P(StrategiesTest, PlanIsWhatIsTaken) {
  const NamedConfig& c = GetParam();
  for (Strategy strategy : AllStrategies()) {
    const StepOutcome outcome = RunSteps(c.config, strategy, c.images, 2);
    EXPECT_EQ(outcome.measured_bytes, outcome.planned_bytes);
  }
}

// Bytes that malloc has handed out.
size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// What libraries take behind the plan's back: little, and none of it for long.
TEST_P(StrategiesTest, HardlyAnythingBesidesThePlanIsAllocated) {
  if (HeapBytes() == 0) {
    GTEST_SKIP() << "malloc keeps no statistics (a sanitizer's, say)";
  }
  constexpr size_t kBound = size_t{1} << 20;
  const ModelConfig& config = GetParam().config;
  const auto ctx = testing::MakeContext(2);
  HostMemory memory;
  auto store = ParameterStore::Create(memory, ParameterSpecs(config),
                                      StatisticsSpecs(config), /*slots=*/0);
  ASSERT_OK(store);
  (*store)->Initialize(*ctx, 7);
  const std::vector<int32_t> labels(4, 1);
  const TestTensor x = TestTensor::Random(
      {4, config.image_height, config.image_width, config.image_channels}, 11);
  for (Strategy strategy : AllStrategies()) {
    Network::Options options;
    options.strategy = strategy;
    options.max_batch = 4;
    auto network = Network::Create(*ctx, config, options, **store);
    ASSERT_OK(network);
    auto arena = Arena::Create(memory, (*network)->plan().arena_bytes());
    ASSERT_OK(arena);
    (*network)->Bind(*arena);
    // The first step fills code caches.
    ASSERT_OK((*network)->TrainStep(x.const_view(), labels, 5, 0));
    const size_t before = HeapBytes();
    size_t most = before;
    (*network)->schedule().set_observer(
        [&](int64_t, double) { most = std::max(most, HeapBytes()); });
    ASSERT_OK((*network)->TrainStep(x.const_view(), labels, 5, 1));
    EXPECT_LT(most - before, kBound) << Name(strategy);
  }
}

TEST_P(StrategiesTest, ASmallerBatchInALargerPlanIsTheSame) {
  const NamedConfig& c = GetParam();
  for (Strategy strategy : AllStrategies()) {
    const StepOutcome exact = RunSteps(c.config, strategy, c.images, 2);
    const StepOutcome roomy =
        RunSteps(c.config, strategy, c.images, 2, 1, c.images + 4);
    EXPECT_EQ(roomy.result.loss_sum, exact.result.loss_sum);
    EXPECT_EQ(roomy.gradients, exact.gradients);
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, StrategiesTest,
                         ::testing::ValuesIn(Configs()),
                         [](const auto& test) { return test.param.name; });

TEST(FindNonFinite, NamesTheLayerThatCameFirst) {
  ModelConfig basic = SmallConfig();
  basic.bottleneck = false;
  const std::unique_ptr<Context> ctx = testing::MakeContext();
  for (const ModelConfig& config : {SmallConfig(), basic}) {
    for (const ParameterSpec& spec : ParameterSpecs(config)) {
      const std::string suffix = ".weight";
      if (spec.shape.rank() < 2 || spec.name.size() < suffix.size()) continue;
      HostMemory memory;
      auto store = ParameterStore::Create(memory, ParameterSpecs(config),
                                          StatisticsSpecs(config), /*slots=*/0);
      ASSERT_OK(store);
      (*store)->Initialize(*ctx, 7);
      Network::Options options;
      options.max_batch = 2;
      auto network = Network::Create(*ctx, config, options, **store);
      ASSERT_OK(network);
      auto arena = Arena::Create(memory, (*network)->plan().arena_bytes());
      ASSERT_OK(arena);
      (*network)->Bind(*arena);
      const TestTensor x = TestTensor::Random(
          {2, config.image_height, config.image_width, config.image_channels},
          11);
      EXPECT_EQ(*(*network)->FindNonFinite(x.const_view(), {1, 2}, 5, 0), "");
      (*store)->value((*store)->IndexOf(spec.name)).data<float>()[0] = NAN;
      const std::string module =
          spec.name.substr(0, spec.name.size() - suffix.size());
      EXPECT_EQ(*(*network)->FindNonFinite(x.const_view(), {1, 2}, 5, 0),
                module == "classifier" ? "classifier.linear" : module);
    }
  }
}

}  // namespace
}  // namespace densenet
