#include "densenet/initial_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "densenet/network.h"
#include "densenet/run_folder.h"
#include "memory/arena.h"
#include "tests/densenet/test_cifar.h"
#include "tests/densenet/training_fixture.h"
#include "tests/support/compare.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// CIFAR-100 with a few random images.
std::string HundredRecords(int64_t records, uint64_t seed) {
  const std::string ten = testing::CifarRecords(records, seed);
  constexpr size_t kRecord = 3073;
  std::string bytes;
  for (int64_t i = 0; i < records; ++i) {
    bytes += static_cast<char>(i % 20);
    bytes += static_cast<char>(i % 100);
    bytes += ten.substr(static_cast<size_t>(i) * kRecord + 1, kRecord - 1);
  }
  return bytes;
}

class InitialNetworkTest : public testing::TrainingFixture {
 protected:
  InitialNetworkTest() {
    testing::WriteCifar10(data_, /*per_batch=*/9, /*test=*/12);
    hundred_.Write("train.bin", HundredRecords(45, 1));
    hundred_.Write("test.bin", HundredRecords(12, 2));
  }

  // A trained network with 10 classes; its checkpoint.
  std::string Source() {
    RunOptions options = testing::TinyRun(data_, runs_.File("source"));
    options.epochs = 1;
    const StatusOr<TrainResult> result = Run(options);
    EXPECT_OK(result);
    return result.ok() ? result->checkpoint : "";
  }
  // A run on CIFAR-100 that starts from it.
  RunOptions FineTune(const std::string& name, const std::string& from) {
    RunOptions options = testing::TinyRun(hundred_, runs_.File(name));
    options.dataset = "cifar100";
    options.init_from = from;
    return options;
  }
  // As config.json of a run says it.
  RunOptions Again(const std::string& name) {
    const StatusOr<Json> json =
        ReadJsonObject(runs_.File(name + "/config.json"));
    EXPECT_OK(json);
    RunOptions options = FineTune(name, json->at("init-from"));
    options.init_digest = json->at("init-digest").get<std::string>();
    options.normalize = json->at("normalize").get<std::string>();
    return options;
  }

  testing::TempDir hundred_;
};

TEST_F(InitialNetworkTest, FeaturesAreTakenAndTheClassifierIsNew) {
  const std::string from = Source();
  const StatusOr<InitialNetwork> initial = DescribeInitialNetwork(from);
  ASSERT_OK(initial);
  ModelConfig model = initial->info.model;
  model.classes = 100;
  HostMemory memory;
  const auto context = *Context::Create({.threads = 1});
  const auto make = [&] {
    auto store = *ParameterStore::Create(memory, ParameterSpecs(model),
                                         StatisticsSpecs(model), 0);
    store->Initialize(*context, 9);
    return store;
  };
  const auto fresh = make();
  const auto taken = make();
  const StatusOr<std::string> said =
      TakeInitialNetwork(from, initial->digest, model, *taken);
  ASSERT_OK(said);
  EXPECT_THAT(*said,
              HasSubstr("a new classifier of 100 classes in place of 10"));
  const auto source = Tensors(from);
  const auto bytes = [](TensorView view) {
    return std::string(static_cast<const char*>(view.raw()),
                       static_cast<size_t>(view.elems()) * sizeof(float));
  };
  for (size_t i = 0; i < taken->parameters().size(); ++i) {
    const std::string& name = taken->parameters()[i].name;
    const auto index = static_cast<int64_t>(i);
    EXPECT_EQ(bytes(taken->value(index)), IsOfClassifier(name)
                                              ? bytes(fresh->value(index))
                                              : source.at("parameters/" + name))
        << name;
  }
  for (size_t i = 0; i < taken->statistics().size(); ++i) {
    const std::string& name = taken->statistics()[i].name;
    EXPECT_EQ(bytes(taken->statistic(static_cast<int64_t>(i))),
              source.at("statistics/" + name))
        << name;
  }
  // As many classes: the whole network.
  model.classes = 10;
  const auto whole = make();
  ASSERT_OK(TakeInitialNetwork(from, initial->digest, model, *whole));
  EXPECT_EQ(bytes(whole->value(whole->IndexOf("classifier.weight"))),
            source.at("parameters/classifier.weight"));
}

TEST_F(InitialNetworkTest, FrozenFeaturesStayAsTheyAre) {
  const std::string from = Source();
  RunOptions options = FineTune("run", from);
  options.freeze_features = true;
  options.weight_decay = 0.1;  // which would shrink what it reaches
  options.epochs = 2;
  const StatusOr<TrainResult> result = Run(options);
  ASSERT_OK(result);
  EXPECT_EQ(result->planned_peak_bytes, result->measured_peak_bytes);
  EXPECT_THAT(out_.str(), HasSubstr("frozen  all but the classifier"));
  EXPECT_THAT(out_.str(), HasSubstr("in place of 10"));
  const auto before = Tensors(from);
  for (const auto& [name, bytes] : Tensors(result->checkpoint)) {
    if (name.starts_with("counters/") || name.starts_with("optimizer/")) {
      continue;
    }
    if (name.find("classifier") != std::string::npos) {
      EXPECT_NE(bytes, before.at(name)) << name;
    } else {
      EXPECT_EQ(bytes, before.at(name)) << name;
    }
  }
  // It learns: from the loss of a random classifier down.
  const std::vector<EpochMetrics> rows = Metrics("run");
  EXPECT_LT(rows.back().train.loss, rows.front().train.loss);
  // Without activations to keep it takes less.
  options = FineTune("all", from);
  options.epochs = 1;
  const StatusOr<TrainResult> all = Run(options);
  ASSERT_OK(all);
  EXPECT_LT(result->planned_peak_bytes, all->planned_peak_bytes);
  EXPECT_EQ(all->planned_peak_bytes, all->measured_peak_bytes);
}

TEST_F(InitialNetworkTest, KilledRunsEndBitwiseAlike) {
  const std::string from = Source();
  for (const bool freeze : {false, true}) {
    const std::string name = freeze ? "frozen" : "free";
    RunOptions whole = FineTune(name + "_whole", from);
    whole.freeze_features = freeze;
    const StatusOr<TrainResult> expected = Run(whole);
    ASSERT_OK(expected);
    RunOptions killed = FineTune(name, from);
    killed.freeze_features = freeze;
    RunUntilKilled(killed, 1);  // before its first checkpoint
    RunUntilKilled(killed, 9);
    const StatusOr<TrainResult> result = Run(killed);
    ASSERT_OK(result);
    EXPECT_THAT(Differing(result->checkpoint, expected->checkpoint), IsEmpty());
  }
}

TEST_F(InitialNetworkTest, TheNormalizationOfTheSourceIsUsed) {
  const std::string from = Source();
  RunOptions options = FineTune("run", from);
  options.epochs = 1;
  ASSERT_OK(Run(options));
  const auto normalization = [&](const std::string& path) {
    return Checkpoint::Open(path)->info().data.normalization;
  };
  const std::string last = "/model.ckpt-6.safetensors";
  EXPECT_TRUE(normalization(runs_.File("run" + last)) == normalization(from));
  EXPECT_THAT(out_.str(), HasSubstr("images  normalized by 0."));
  options = FineTune("own", from);
  options.epochs = 1;
  options.normalize = "dataset";
  ASSERT_OK(Run(options));
  EXPECT_FALSE(normalization(runs_.File("own" + last)) == normalization(from));
}

TEST_F(InitialNetworkTest, AChangedFileIsRefusedAMissingOneNotNeeded) {
  const std::string from = Source();
  const std::string copy = runs_.File("copy.safetensors");
  std::filesystem::copy_file(from, copy);
  RunUntilKilled(FineTune("run", copy), 9);
  // Another file under the same name, and another name for the same file.
  RunOptions source = testing::TinyRun(data_, runs_.File("source"));
  source.epochs = 2;
  const StatusOr<TrainResult> later = Run(source);
  ASSERT_OK(later);
  std::filesystem::remove(copy);
  std::filesystem::copy_file(later->checkpoint, copy);
  EXPECT_THAT(Run(Again("run")),
              Fails(StatusCode::kInvalidArgument, {"digest", "another file"}));
  EXPECT_THAT(Run(FineTune("run", copy)),
              Fails(StatusCode::kFailedPrecondition, {"init-digest"}));
  std::filesystem::remove(copy);
  EXPECT_THAT(Run(FineTune("run", copy)), Fails(StatusCode::kNotFound, {copy}));
  ASSERT_OK(Run(Again("run")));
}

TEST_F(InitialNetworkTest, OtherNetworksAreRefused) {
  const std::string from = Source();
  RunOptions options = FineTune("run", from);
  options.growth = 5;
  EXPECT_THAT(Run(options), Fails(StatusCode::kInvalidArgument,
                                  {"growth_rate is 4", "5", "--growth"}));
  options = FineTune("run", from);
  options.bn_epsilon = 1e-3;
  EXPECT_THAT(Run(options),
              Fails(StatusCode::kInvalidArgument, {"--bn-epsilon"}));
  options = FineTune("run", data_.File("test_batch.bin"));
  EXPECT_FALSE(Run(options).ok());
  options = testing::TinyRun(data_, runs_.File("run"));
  options.freeze_features = true;
  EXPECT_THAT(Run(options),
              Fails(StatusCode::kInvalidArgument, {"--init-from"}));
}

// The gradient of a classifier on frozen features is the one that the whole
// network has under frozen statistics; nothing else is written.
TEST(FreezeFeatures, LeavesOnlyTheClassifiersGradient) {
  constexpr int64_t kImages = 5;
  const ModelConfig model = *CifarConfig(16, 4, /*bottleneck=*/true, 0.5);
  const auto context = *Context::Create({.threads = 2});
  const testing::TestTensor images = testing::TestTensor::Random(
      {kImages, model.image_height, model.image_width, model.image_channels},
      11);
  const std::vector<int32_t> labels = {1, 4, 7, 0, 3};
  HostMemory memory;
  std::vector<double> classifiers[2];
  for (const bool freeze : {false, true}) {
    const auto store = *ParameterStore::Create(memory, ParameterSpecs(model),
                                               StatisticsSpecs(model), 0);
    store->Initialize(*context, 3);
    const auto network = *Network::Create(*context, model,
                                          {.max_batch = kImages,
                                           .frozen_statistics = !freeze,
                                           .freeze_features = freeze,
                                           .label_smoothing = 0.1},
                                          *store);
    Arena arena = *Arena::Create(memory, network->plan().arena_bytes());
    network->Bind(arena);
    network->schedule().set_poison(true);
    const StatusOr<BatchResult> result =
        network->TrainStep(images.view(), labels, 1, 1);
    ASSERT_OK(result);
    for (size_t i = 0; i < store->parameters().size(); ++i) {
      const std::vector<double> gradient =
          testing::ToVector(store->gradient(static_cast<int64_t>(i)));
      if (IsOfClassifier(store->parameters()[i].name)) {
        auto& all = classifiers[freeze];
        all.insert(all.end(), gradient.begin(), gradient.end());
      } else if (freeze) {
        EXPECT_THAT(gradient, Each(0.0)) << store->parameters()[i].name;
      }
    }
  }
  constexpr double kBound = 1e-6;
  EXPECT_LE(testing::RelativeNorm(classifiers[1], classifiers[0]), kBound);
}

}  // namespace
}  // namespace densenet
