// Laws of a step and of an evaluation: what they change, what they leave, what
// their results do not depend on.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "densenet/network.h"
#include "memory/host_memory.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/reference_batch_norm.h"
#include "tests/support/reference_conv2d.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using testing::Fails;
using testing::TestTensor;
using Floats = std::vector<float>;

Floats Copy(absl::Span<const float> values) {
  return {values.begin(), values.end()};
}

ModelConfig SmallConfig() {
  ModelConfig config;
  config.block_config = {3, 2};
  config.growth_rate = 4;
  config.stem_channels = 8;
  config.image_height = 7;
  config.image_width = 6;
  return config;
}

// Images and labels from explicit seeds.
struct Batch {
  Batch(const ModelConfig& config, int64_t images)
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

// A parameter store and networks on it.
class NetworkLawTest : public ::testing::Test {
 protected:
  explicit NetworkLawTest(const ModelConfig& config = SmallConfig()) {
    Use(config);
  }

  void Use(const ModelConfig& config) {
    config_ = config;
    auto store = ParameterStore::Create(memory_, ParameterSpecs(config),
                                        StatisticsSpecs(config), /*slots=*/0);
    CHECK(store.ok());
    store_ = std::move(*store);
    store_->Initialize(*ctx_, 7);
  }

  std::unique_ptr<Network> Make(Network::Mode mode, Strategy strategy,
                                int64_t max_batch) {
    Network::Options options;
    options.mode = mode;
    options.strategy = strategy;
    options.max_batch = max_batch;
    auto network = Network::Create(*ctx_, config_, options, *store_);
    CHECK(network.ok()) << network.status();
    return std::move(*network);
  }
  // Bound to an arena of its own.
  std::unique_ptr<Network> MakeBound(Network::Mode mode, int64_t max_batch,
                                     Strategy strategy = Strategy::kFused) {
    std::unique_ptr<Network> network = Make(mode, strategy, max_batch);
    auto arena = Arena::Create(memory_, network->plan().arena_bytes());
    CHECK(arena.ok());
    arenas_.push_back(std::make_unique<Arena>(std::move(*arena)));
    network->Bind(*arenas_.back());
    // Poison would take the logits, which outlive an evaluation.
    network->schedule().set_poison(mode == Network::Mode::kTrain);
    return network;
  }
  std::unique_ptr<Network> Trainer(int64_t max_batch,
                                   Strategy strategy = Strategy::kFused) {
    return MakeBound(Network::Mode::kTrain, max_batch, strategy);
  }
  std::unique_ptr<Network> Evaluator(int64_t max_batch) {
    return MakeBound(Network::Mode::kEvaluate, max_batch);
  }

  Floats Statistic(const std::string& name) {
    const TensorView view = store_->statistic(store_->StatisticIndexOf(name));
    return Copy(absl::MakeSpan(view.data<float>(), view.elems()));
  }
  // Statistics like those of a trained network: none at its initial value.
  void DisturbStatistics() {
    absl::Span<float> values = store_->statistics_values();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.5f + 0.01f * static_cast<float>(i % 37);
    }
  }

  std::unique_ptr<Context> ctx_ = testing::MakeContext(2);
  HostMemory memory_;
  ModelConfig config_;
  std::unique_ptr<ParameterStore> store_;
  std::vector<std::unique_ptr<Arena>> arenas_;
};

// Batch statistics of the stem's output, which the first norm reads.
struct StemStatistics {
  std::vector<double> mean;
  std::vector<double> variance;  // unbiased
};

StemStatistics OfStem(const ModelConfig& c, ParameterStore& store,
                      const Batch& batch) {
  const int64_t n = batch.x.shape()[0];
  const int64_t h = c.image_height;
  const int64_t w = c.image_width;
  const testing::ReferenceConv2d conv{
      n, h, w, c.image_channels, 3, 3, c.stem_channels, 1, 1, 1, 1, h, w};
  const std::vector<double> y = conv.Forward(
      batch.x.ToDoubles(),
      testing::ToVector(store.value(store.IndexOf("features.conv0.weight"))));
  const testing::ReferenceBatchNorm norm{n * h * w, c.stem_channels, 0};
  StemStatistics statistics{norm.Mean(y), norm.Variance(y)};
  const double rows = static_cast<double>(norm.rows);
  for (double& v : statistics.variance) v *= rows / (rows - 1);
  return statistics;
}

TEST_F(NetworkLawTest, RunningStatisticsMoveOncePerStepUnderEveryStrategy) {
  const Batch batch(config_, 5);
  const StemStatistics stem = OfStem(config_, *store_, batch);
  const std::string layer = "features.denseblock1.denselayer";
  for (Strategy strategy : AllStrategies()) {
    SCOPED_TRACE(std::string(Name(strategy)));
    store_->Initialize(*ctx_, 7);
    auto network = Trainer(5, strategy);
    double kept = 1;  // of the initial value
    for (uint32_t step = 0; step < 3; ++step) {
      ASSERT_OK(network->TrainStep(batch.x.view(), batch.labels, 5, step));
      kept *= 1 - config_.batch_norm_momentum;
      std::vector<double> mean = stem.mean;
      std::vector<double> variance = stem.variance;
      for (double& v : mean) v *= 1 - kept;
      for (double& v : variance) v = kept * 1 + (1 - kept) * v;
      const int64_t rows = 5 * config_.image_height * config_.image_width;
      EXPECT_TRUE(testing::Near(store_->statistic(store_->StatisticIndexOf(
                                    layer + "1.norm1.running_mean")),
                                mean, rows));
      EXPECT_TRUE(testing::Near(store_->statistic(store_->StatisticIndexOf(
                                    layer + "1.norm1.running_var")),
                                variance, rows));
      // Every later reader saw the same batch statistics of these channels.
      const Floats first = Statistic(layer + "1.norm1.running_var");
      for (const char* reader :
           {"2.norm1.running_var", "3.norm1.running_var"}) {
        Floats other = Statistic(layer + reader);
        other.resize(first.size());
        EXPECT_EQ(other, first) << reader;
      }
    }
  }
}

TEST_F(NetworkLawTest, AStepLeavesParametersAndWritesEveryGradient) {
  const Batch batch(config_, 3);
  for (Strategy strategy : AllStrategies()) {
    auto network = Trainer(3, strategy);
    const Floats values = Copy(store_->values());
    absl::Span<float> gradients = store_->gradients();
    std::fill(gradients.begin(), gradients.end(),
              std::numeric_limits<float>::quiet_NaN());
    ASSERT_OK(network->TrainStep(batch.x.view(), batch.labels, 5, 0));
    EXPECT_EQ(Copy(store_->values()), values);
    for (size_t i = 0; i < store_->parameters().size(); ++i) {
      const TensorView gradient = store_->gradient(static_cast<int64_t>(i));
      for (double g : testing::ToVector(gradient)) {
        ASSERT_TRUE(std::isfinite(g)) << store_->parameters()[i].name;
      }
    }
  }
}

TEST_F(NetworkLawTest, DropoutMasksFollowSeedAndStep) {
  ModelConfig config = SmallConfig();
  config.dropout = 0.3;
  Use(config);
  const Batch batch(config_, 3);
  auto network = Trainer(3);
  auto loss = [&](uint64_t seed, uint32_t step) {
    auto result = network->TrainStep(batch.x.view(), batch.labels, seed, step);
    CHECK(result.ok());
    return result->loss_sum;
  };
  const double first = loss(5, 0);
  const Floats gradients = Copy(store_->gradients());
  EXPECT_NE(loss(5, 1), first);
  EXPECT_NE(Copy(store_->gradients()), gradients);
  EXPECT_NE(loss(6, 0), first);
  EXPECT_EQ(loss(5, 0), first);
  EXPECT_EQ(Copy(store_->gradients()), gradients);
}

TEST_F(NetworkLawTest, WithoutDropoutSeedAndStepDoNotMatter) {
  const Batch batch(config_, 3);
  auto network = Trainer(3);
  auto one = network->TrainStep(batch.x.view(), batch.labels, 5, 0);
  const Floats gradients = Copy(store_->gradients());
  auto two = network->TrainStep(batch.x.view(), batch.labels, 6, 9);
  ASSERT_OK(one);
  ASSERT_OK(two);
  EXPECT_EQ(one->loss_sum, two->loss_sum);
  EXPECT_EQ(Copy(store_->gradients()), gradients);
}

TEST_F(NetworkLawTest, EvaluationDropsNothing) {
  DisturbStatistics();
  const Batch batch(config_, 3);
  auto plain = Evaluator(3);
  ASSERT_OK(plain->Evaluate(batch.x.view(), {}));
  const auto expected = testing::ToVector(plain->logits());
  config_.dropout = 0.5;
  auto dropping = Evaluator(3);
  ASSERT_OK(dropping->Evaluate(batch.x.view(), {}));
  EXPECT_EQ(testing::ToVector(dropping->logits()), expected);
}

TEST_F(NetworkLawTest, EvaluationChangesNothing) {
  DisturbStatistics();
  const Batch batch(config_, 5);
  absl::Span<float> gradients = store_->gradients();
  std::fill(gradients.begin(), gradients.end(), 3.0f);
  const Floats values = Copy(store_->values());
  const Floats statistics = Copy(store_->statistics_values());
  auto network = Evaluator(5);
  ASSERT_OK(network->Evaluate(batch.x.view(), batch.labels));
  EXPECT_EQ(Copy(store_->values()), values);
  EXPECT_EQ(Copy(store_->statistics_values()), statistics);
  EXPECT_EQ(Copy(store_->gradients()), Floats(gradients.size(), 3.0f));
}

// 19 images: some chunks hold two, and tiles of pixels span them.
TEST_F(NetworkLawTest, AnImageIsEvaluatedAlikeInEveryBatch) {
  for (Stem stem : {Stem::kCifar, Stem::kImageNet}) {
    ModelConfig config = SmallConfig();
    config.stem = stem;
    if (stem == Stem::kImageNet) config.image_height = config.image_width = 21;
    Use(config);
    DisturbStatistics();
    const int64_t kImages = 19;
    const Batch batch(config_, kImages);
    auto whole = Evaluator(kImages);
    auto roomy = Evaluator(kImages + 30);
    auto single = Evaluator(1);
    ASSERT_OK(whole->Evaluate(batch.x.view(), batch.labels));
    ASSERT_OK(roomy->Evaluate(batch.x.view(), {}));
    const auto logits = testing::ToVector(whole->logits());
    EXPECT_EQ(testing::ToVector(roomy->logits()), logits);
    std::vector<double> one_by_one;
    for (int64_t n = 0; n < kImages; ++n) {
      ASSERT_OK(single->Evaluate(batch.x.view().Slice(0, n, n + 1), {}));
      for (double v : testing::ToVector(single->logits())) {
        one_by_one.push_back(v);
      }
    }
    EXPECT_EQ(one_by_one, logits);
  }
}

TEST_F(NetworkLawTest, ResultsFollowFromTheLogits) {
  DisturbStatistics();
  const Batch batch(config_, 19);
  auto network = Evaluator(19);
  const auto result = network->Evaluate(batch.x.view(), batch.labels);
  ASSERT_OK(result);
  const auto logits = testing::ToVector(network->logits());
  double loss = 0;
  int64_t correct = 0;
  for (int64_t n = 0; n < 19; ++n) {
    const double* row = logits.data() + n * config_.classes;
    double sum = 0;
    for (int64_t k = 0; k < config_.classes; ++k) sum += std::exp(row[k]);
    loss += std::log(sum) - row[batch.labels[n]];
    const auto best = std::max_element(row, row + config_.classes) - row;
    correct += best == batch.labels[n];
  }
  const float measured = static_cast<float>(result->loss_sum);
  EXPECT_TRUE(testing::Near(ConstTensorView(&measured, DType::kFloat32, {1}),
                            {loss}, config_.classes));
  EXPECT_EQ(result->correct, correct);
  EXPECT_EQ(result->examples, 19);
  const auto unlabeled = network->Evaluate(batch.x.view(), {});
  ASSERT_OK(unlabeled);
  EXPECT_EQ(unlabeled->loss_sum, 0);
  EXPECT_EQ(unlabeled->correct, 0);
  EXPECT_EQ(unlabeled->examples, 19);
}

TEST_F(NetworkLawTest, EvaluationKeepsNoActivations) {
  auto plan_of = [&](int64_t depth, Network::Mode mode, Strategy strategy) {
    Use(*CifarConfig(depth, 12, /*bottleneck=*/true, 0.5));
    return Make(mode, strategy, 64)->plan();
  };
  const MemoryPlan evaluation =
      plan_of(100, Network::Mode::kEvaluate, Strategy::kNaive);
  const MemoryPlan frugal =
      plan_of(100, Network::Mode::kTrain, Strategy::kFeaturesOnly);
  const MemoryPlan naive =
      plan_of(100, Network::Mode::kTrain, Strategy::kNaive);
  // At most one block's features, one layer's bottleneck and scratch.
  const int64_t block = 64 * 32 * 32 * (24 + 16 * 12) * 4;
  const int64_t bottleneck = 64 * 32 * 32 * 48 * 4;
  EXPECT_LE(evaluation.arena_bytes(), block + bottleneck + (int64_t{8} << 20));
  EXPECT_LE(3 * evaluation.arena_bytes(), 2 * frugal.arena_bytes());
  EXPECT_LE(20 * evaluation.arena_bytes(), naive.arena_bytes());
  EXPECT_EQ(evaluation.bytes_at_peak(BufferKind::kGradients), 0);
}

TEST_F(NetworkLawTest, TrainingAndEvaluationMayShareAnArena) {
  const Batch batch(config_, 5);
  auto run = [&](bool shared) {
    store_->Initialize(*ctx_, 7);
    auto trainer = Trainer(5);
    auto evaluator = Evaluator(9);
    if (shared) {
      const int64_t bytes = std::max(trainer->plan().arena_bytes(),
                                     evaluator->plan().arena_bytes());
      auto arena = Arena::Create(memory_, bytes);
      CHECK(arena.ok());
      arenas_.push_back(std::make_unique<Arena>(std::move(*arena)));
      trainer->Bind(*arenas_.back());
      evaluator->Bind(*arenas_.back());
    }
    std::vector<double> results;
    for (uint32_t step = 0; step < 2; ++step) {
      auto trained = trainer->TrainStep(batch.x.view(), batch.labels, 5, step);
      auto evaluated = evaluator->Evaluate(batch.x.view(), batch.labels);
      CHECK(trained.ok() && evaluated.ok());
      results.push_back(trained->loss_sum);
      results.push_back(evaluated->loss_sum);
    }
    for (float g : store_->gradients()) results.push_back(g);
    return results;
  };
  EXPECT_EQ(run(true), run(false));
}

TEST_F(NetworkLawTest, BadBatchesAreErrors) {
  const Batch batch(config_, 3);
  auto trainer = Trainer(3);
  auto evaluator = Evaluator(3);
  auto step = [&](const TestTensor& x, std::vector<int32_t> labels) {
    return trainer->TrainStep(x.view(), labels, 5, 0);
  };
  const auto kBad = StatusCode::kInvalidArgument;
  EXPECT_THAT(step(batch.x, {}), Fails(kBad, {"without labels"}));
  EXPECT_THAT(step(batch.x, {1, 2}), Fails(kBad, {"2 labels for 3 images"}));
  EXPECT_THAT(step(batch.x, {1, 10, 2}),
              Fails(kBad, {"label 10 of image 1", "0..9"}));
  EXPECT_THAT(step(batch.x, {1, 2, -1}), Fails(kBad, {"label -1 of image 2"}));
  const std::string expected = "expected packed float32 (1..3, 7, 6, 3)";
  const std::vector<int32_t> four = {1, 2, 3, 4};
  EXPECT_THAT(step(TestTensor({4, 7, 6, 3}), four),
              Fails(kBad, {"(4, 7, 6, 3)", expected}));
  EXPECT_THAT(step(TestTensor({3, 6, 7, 3}), {1, 2, 3}),
              Fails(kBad, {expected}));
  EXPECT_THAT(step(TestTensor({3, 126}), {1, 2, 3}), Fails(kBad, {expected}));
  EXPECT_THAT(step(TestTensor({0, 7, 6, 3}), {1}), Fails(kBad, {expected}));
  EXPECT_THAT(step(TestTensor({3, 7, 6, 3}, /*gap=*/1), {1, 2, 3}),
              Fails(kBad, {expected}));
  EXPECT_THAT(evaluator->Evaluate(TestTensor({4, 7, 6, 3}).view(), {}),
              Fails(kBad, {expected}));
  const std::vector<uint8_t> bytes(7 * 6 * 3);
  EXPECT_THAT(
      evaluator->Evaluate({bytes.data(), DType::kUInt8, {1, 7, 6, 3}}, {}),
      Fails(kBad, {"uint8", expected}));
  // Nothing of this harmed the networks.
  EXPECT_OK(step(batch.x, batch.labels));
}

TEST_F(NetworkLawTest, BatchNormOverOneValueIsAnError) {
  ModelConfig config = SmallConfig();
  config.image_height = config.image_width = 3;
  Use(config);
  auto trainer = Trainer(2);
  const Batch one(config_, 1);
  EXPECT_THAT(trainer->TrainStep(one.x.view(), one.labels, 5, 0),
              Fails(StatusCode::kInvalidArgument,
                    {"batch norm over a single value", "larger"}));
  const Batch two(config_, 2);
  EXPECT_OK(trainer->TrainStep(two.x.view(), two.labels, 5, 0));
  EXPECT_OK(Evaluator(1)->Evaluate(one.x.view(), one.labels));
}

TEST_F(NetworkLawTest, ImpossibleNetworksAreErrors) {
  Network::Options options;
  options.max_batch = 0;
  EXPECT_THAT(Network::Create(*ctx_, config_, options, *store_),
              Fails(StatusCode::kInvalidArgument, {"batch of 0 images"}));
  config_.growth_rate = 0;
  EXPECT_THAT(Network::Create(*ctx_, config_, {}, *store_),
              Fails(StatusCode::kInvalidArgument, {"growth rate 0"}));
}

TEST_F(NetworkLawTest, FrozenStatisticsStayAsTheyAre) {
  DisturbStatistics();
  const Floats statistics = Copy(store_->statistics_values());
  const Batch batch(config_, 3);
  for (Strategy strategy : AllStrategies()) {
    Network::Options options;
    options.strategy = strategy;
    options.max_batch = 3;
    options.frozen_statistics = true;
    auto network = Network::Create(*ctx_, config_, options, *store_);
    ASSERT_OK(network);
    auto arena = Arena::Create(memory_, (*network)->plan().arena_bytes());
    ASSERT_OK(arena);
    (*network)->Bind(*arena);
    const auto step = (*network)->TrainStep(batch.x.view(), batch.labels, 5, 0);
    ASSERT_OK(step);
    // The forward pass is that of evaluation.
    const auto evaluated = Evaluator(3)->Evaluate(batch.x.view(), batch.labels);
    ASSERT_OK(evaluated);
    EXPECT_EQ(step->loss_sum, evaluated->loss_sum);
    EXPECT_EQ(Copy(store_->statistics_values()), statistics);
  }
}

using NetworkLawDeathTest = NetworkLawTest;

TEST_F(NetworkLawDeathTest, ATrainingNetworkHasNoLogits) {
  auto network = Trainer(3);
  EXPECT_DEATH(network->logits(), "kEvaluate");
}

}  // namespace
}  // namespace densenet
