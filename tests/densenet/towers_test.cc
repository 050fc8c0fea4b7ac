#include "densenet/towers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <optional>
#include <ostream>
#include <thread>

#include "core/random.h"
#include "densenet/kernels/channel_statistics.h"
#include "memory/host_memory.h"
#include "parallel/batch_split.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using testing::TestTensor;

constexpr uint64_t kSeed = 5;

ModelConfig SmallConfig() {
  ModelConfig config;
  config.block_config = {3, 2};
  config.growth_rate = 4;
  config.stem_channels = 8;
  config.image_height = 9;
  config.image_width = 8;
  return config;
}

std::vector<float> Copy(absl::Span<float> values) {
  return {values.begin(), values.end()};
}

struct Outcome {
  BatchResult result;
  std::vector<float> gradients;
  std::vector<float> statistics;
};

struct Batch {
  explicit Batch(const ModelConfig& config, int64_t images)
      : x(TestTensor::Random({images, config.image_height, config.image_width,
                              config.image_channels},
                             11)) {
    for (int64_t i = 0; i < images; ++i) {
      labels.push_back(static_cast<int32_t>((3 * i + 1) % config.classes));
    }
  }

  TestTensor x;
  std::vector<int32_t> labels;
};

std::unique_ptr<ParameterStore> MakeStore(MemoryResource& memory,
                                          const ModelConfig& config) {
  auto store = ParameterStore::Create(memory, ParameterSpecs(config),
                                      StatisticsSpecs(config), /*slots=*/0);
  CHECK(store.ok());
  (*store)->Initialize(*testing::MakeContext(1), 7);
  return std::move(*store);
}

// One network; of `share`, where it is given, alone.
Outcome RunOne(const ModelConfig& config, Network::Options options,
               const Batch& batch, int steps,
               std::optional<BatchShare> share = std::nullopt) {
  HostMemory memory;
  const std::unique_ptr<Context> ctx = testing::MakeContext(2);
  const std::unique_ptr<ParameterStore> store = MakeStore(memory, config);
  auto network = Network::Create(*ctx, config, options, *store);
  CHECK(network.ok()) << network.status();
  auto arena = Arena::Create(memory, (*network)->plan().arena_bytes());
  CHECK(arena.ok());
  (*network)->Bind(*arena);
  Outcome outcome;
  for (int s = 0; s < steps; ++s) {
    const uint32_t step = static_cast<uint32_t>(s);
    const ConstTensorView x = batch.x.const_view();
    const auto result =
        share ? (*network)->TrainShare(
                    x.Slice(0, share->first_image,
                            share->first_image + share->images),
                    absl::MakeConstSpan(batch.labels)
                        .subspan(share->first_image, share->images),
                    kSeed, step, *share)
              : (*network)->TrainStep(x, batch.labels, kSeed, step);
    CHECK(result.ok()) << result.status();
    outcome.result = *result;
  }
  outcome.gradients = Copy(store->gradients());
  outcome.statistics = Copy(store->statistics_values());
  return outcome;
}

class TowersRun {
 public:
  TowersRun(const ModelConfig& config, const Towers::Options& options)
      : store_(MakeStore(memory_, config)) {
    auto towers = Towers::Create(memory_, config, options, *store_);
    CHECK(towers.ok()) << towers.status();
    towers_ = std::move(*towers);
    for (int t = 0; t < towers_->count(); ++t) {
      auto arena = Arena::Create(memory_, towers_->plan(t).arena_bytes());
      CHECK(arena.ok());
      arenas_.push_back(std::move(*arena));
      towers_->Bind(t, arenas_.back());
      towers_->schedule(t).set_poison(true);
    }
  }

  Outcome Run(const Batch& batch, int steps) {
    Outcome outcome;
    for (int s = 0; s < steps; ++s) {
      const auto result = towers_->TrainStep(batch.x.const_view(), batch.labels,
                                             kSeed, static_cast<uint32_t>(s));
      CHECK(result.ok()) << result.status();
      outcome.result = *result;
    }
    outcome.gradients = Copy(store_->gradients());
    outcome.statistics = Copy(store_->statistics_values());
    return outcome;
  }

  Towers& towers() { return *towers_; }
  ParameterStore& store() { return *store_; }

 private:
  HostMemory memory_;
  std::unique_ptr<ParameterStore> store_;
  std::vector<Arena> arenas_;
  std::unique_ptr<Towers> towers_;
};

double RelativeDifference(const std::vector<float>& a,
                          const std::vector<float>& b) {
  CHECK_EQ(a.size(), b.size());
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(difference / norm);
}

struct Case {
  int towers = 2;
  int64_t images = 17;
  Strategy strategy = Strategy::kFused;
  double dropout = 0;
  bool bottleneck = true;
  Stem stem = Stem::kCifar;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.towers << " towers, " << c.images << " images, " << Name(c.strategy)
       << ", dropout " << c.dropout << ", "
       << (c.bottleneck ? "bottleneck, " : "basic, ") << Name(c.stem);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int towers : {1, 2, 3, 4}) {
    for (int64_t images : {1, 3, 17, 34}) cases.push_back({towers, images});
  }
  for (Strategy strategy : AllStrategies()) {
    cases.push_back({3, 20, strategy, 0.2});
    cases.push_back({2, 20, strategy, 0.2, false});
  }
  cases.push_back({3, 10, Strategy::kFused, 0.1, true, Stem::kImageNet});
  return cases;
}

ModelConfig ConfigOf(const Case& c) {
  ModelConfig config = SmallConfig();
  config.dropout = c.dropout;
  config.bottleneck = c.bottleneck;
  config.stem = c.stem;
  if (c.stem == Stem::kImageNet) {
    config.image_height = 33;
    config.image_width = 30;
  }
  return config;
}

Network::Options NetworkOptions(const Case& c) {
  Network::Options options;
  options.strategy = c.strategy;
  options.max_batch = c.images;
  return options;
}

class TowersTest : public ::testing::TestWithParam<Case> {};

TEST_P(TowersTest, SynchronizedTheyAreOneNetwork) {
  const Case& c = GetParam();
  const ModelConfig config = ConfigOf(c);
  const Batch batch(config, c.images);
  const Outcome one = RunOne(config, NetworkOptions(c), batch, 2);
  TowersRun run(config, {.towers = c.towers,
                         .threads = 4,
                         .sync_batch_norm = true,
                         .network = NetworkOptions(c)});
  const Outcome all = run.Run(batch, 2);
  EXPECT_EQ(all.statistics, one.statistics);
  // The head's matrix product blocks rows by their number: logits may differ
  // in their last bit.
  EXPECT_NEAR(all.result.loss_sum, one.result.loss_sum,
              1e-6 * one.result.loss_sum);
  EXPECT_EQ(all.result.correct, one.result.correct);
  EXPECT_EQ(all.result.correct_top5, one.result.correct_top5);
  EXPECT_EQ(all.result.examples, c.images);
  EXPECT_LE(RelativeDifference(all.gradients, one.gradients), 1e-5);
  if (c.towers == 1) {
    EXPECT_EQ(all.gradients, one.gradients);
  }
}

TEST_P(TowersTest, WithStatisticsOfTheirOwnTheyAreTheSumOfTheirShares) {
  const Case& c = GetParam();
  const ModelConfig config = ConfigOf(c);
  const Batch batch(config, c.images);
  TowersRun run(
      config, {.towers = c.towers, .threads = 3, .network = NetworkOptions(c)});
  const Outcome all = run.Run(batch, 1);
  std::vector<double> gradients(all.gradients.size());
  std::vector<double> statistics(all.statistics.size());
  double loss_sum = 0;
  for (const BatchShare& share : SplitBatch(c.images, kMaxChunks, c.towers)) {
    const Outcome one = RunOne(config, NetworkOptions(c), batch, 1, share);
    const double weight =
        static_cast<double>(share.images) / static_cast<double>(c.images);
    for (size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] += one.gradients[i];
    }
    for (size_t i = 0; i < statistics.size(); ++i) {
      statistics[i] += weight * one.statistics[i];
    }
    loss_sum += one.result.loss_sum;
  }
  EXPECT_NEAR(all.result.loss_sum, loss_sum, 1e-12 * loss_sum);
  EXPECT_EQ(all.statistics,
            std::vector<float>(statistics.begin(), statistics.end()));
  EXPECT_LE(
      RelativeDifference(all.gradients, {gradients.begin(), gradients.end()}),
      1e-6);
}

TEST_P(TowersTest, TimingChangesNoBit) {
  const Case& c = GetParam();
  const ModelConfig config = ConfigOf(c);
  const Batch batch(config, c.images);
  for (bool sync : {false, true}) {
    const Towers::Options options = {.towers = c.towers,
                                     .threads = 3,
                                     .sync_batch_norm = sync,
                                     .network = NetworkOptions(c)};
    const Outcome calm = TowersRun(config, options).Run(batch, 2);
    TowersRun stalled(config, options);
    for (int t = 0; t < c.towers; ++t) {
      // Every tower is held up at tasks of its own.
      stalled.towers().schedule(t).set_observer([t](int64_t task, double) {
        const uint64_t bits = RandomBits({kSeed, static_cast<uint32_t>(t), 0},
                                         static_cast<uint64_t>(task));
        if (bits % 16 == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(bits % 300));
        }
      });
    }
    const Outcome outcome = stalled.Run(batch, 2);
    EXPECT_EQ(outcome.gradients, calm.gradients);
    EXPECT_EQ(outcome.statistics, calm.statistics);
    EXPECT_EQ(outcome.result.loss_sum, calm.result.loss_sum);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, TowersTest, ::testing::ValuesIn(Cases()));

TEST(Towers, BucketsComeCompleteFromTheLastToTheFirst) {
  ModelConfig config = SmallConfig();
  config.growth_rate = 24;  // more than one bucket
  config.stem_channels = 48;
  Network::Options network;
  network.max_batch = 8;
  TowersRun run(config, {.towers = 2, .threads = 2, .network = network});
  const Batch batch(config, 8);
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::vector<float> seen(run.store().gradients().size(), NAN);
  const auto result = run.towers().TrainStep(
      batch.x.const_view(), batch.labels, kSeed, 0,
      [&](const Context&, int64_t begin, int64_t end) {
        std::lock_guard<std::mutex> lock(mutex);
        ranges.push_back({begin, end});
        std::copy_n(run.store().gradients().data() + begin, end - begin,
                    seen.data() + begin);
      });
  ASSERT_OK(result);
  ASSERT_GE(ranges.size(), 2u);
  std::sort(ranges.begin(), ranges.end());
  int64_t at = 0;
  for (const auto& [begin, end] : ranges) {
    EXPECT_EQ(begin, at);
    at = end;
  }
  EXPECT_EQ(seen, Copy(run.store().gradients()));
}

TEST(Towers, AnErrorOfOneEndsTheStepOfAll) {
  const ModelConfig config = SmallConfig();
  Network::Options network;
  network.max_batch = 8;
  for (bool sync : {false, true}) {
    TowersRun run(config, {.towers = 3,
                           .threads = 3,
                           .sync_batch_norm = sync,
                           .network = network});
    Batch bad(config, 8);
    bad.labels[7] = 99;
    EXPECT_THAT(run.towers().TrainStep(bad.x.const_view(), bad.labels, 1, 0),
                Fails(StatusCode::kInvalidArgument, {"label 99"}));
    // And the next step is a step like any other.
    Batch good(config, 8);
    EXPECT_OK(run.towers().TrainStep(good.x.const_view(), good.labels, 1, 1));
  }
}

TEST(Towers, ImpossibleNumbersAreRefused) {
  HostMemory memory;
  const ModelConfig config = SmallConfig();
  const auto store = MakeStore(memory, config);
  Towers::Options options;
  options.towers = 0;
  EXPECT_THAT(Towers::Create(memory, config, options, *store),
              Fails(StatusCode::kInvalidArgument, {"0 towers"}));
}

}  // namespace
}  // namespace densenet
