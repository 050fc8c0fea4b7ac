// The planned network under every strategy against a DenseNet on the tape.

#include "tests/support/free_densenet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/autograd/losses.h"
#include "densenet/network.h"
#include "memory/host_memory.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"
#include "tests/support/tolerance.h"

namespace densenet {
namespace {

using ::densenet::testing::FreeDenseNet;
using ::densenet::testing::RelativeNorm;
using ::densenet::testing::TestTensor;
using ::densenet::testing::ToVector;

constexpr int64_t kImages = 4;

FreeDenseNet FreeNet(const ModelConfig& config) {
  return {.block_config = config.block_config,
          .growth_rate = config.growth_rate,
          .bottleneck = config.bottleneck,
          .compression = config.compression,
          .stem_channels = config.stem_channels,
          .image_channels = config.image_channels,
          .classes = config.classes,
          .batch_norm = {.epsilon = config.batch_norm_epsilon,
                         .momentum = config.batch_norm_momentum}};
}

ModelConfig Config(bool bottleneck) {
  ModelConfig config;
  config.block_config = {3, 2, 2};
  config.growth_rate = 4;
  config.bottleneck = bottleneck;
  config.compression = bottleneck ? 0.5 : 1.0;
  config.stem_channels = 8;
  config.image_height = 9;
  config.image_width = 8;
  return config;
}

TEST(FreeDenseNetTest, HasTheParametersOfTheModel) {
  for (const bool bottleneck : {false, true}) {
    const StatusOr<ModelConfig> config =
        CifarConfig(40, 12, bottleneck, bottleneck ? 0.5 : 1.0);
    ASSERT_OK(config);
    const std::vector<ParameterSpec> specs = ParameterSpecs(*config);
    const auto shapes = FreeNet(*config).ParameterShapes();
    ASSERT_EQ(shapes.size(), specs.size());
    for (size_t i = 0; i < specs.size(); ++i) {
      EXPECT_EQ(shapes[i].first, specs[i].name);
      EXPECT_EQ(shapes[i].second, specs[i].shape) << specs[i].name;
    }
  }
}

TEST(FreeDenseNetTest, MissingParametersAreNamed) {
  const auto ctx = testing::MakeContext(1);
  HostMemory memory;
  Tape tape(*ctx, memory);
  const TestTensor images({2, 8, 8, 3});
  const Var x = tape.Leaf("images", images.view());
  EXPECT_FALSE(FreeNet(Config(true)).Logits({}, x).ok());
  EXPECT_THAT(tape.status(),
              testing::Fails(StatusCode::kNotFound,
                             {"no parameter 'features.conv0.weight'"}));
}

class PlannedAgainstFreeTest
    : public ::testing::TestWithParam<std::tuple<bool, Strategy>> {};

TEST_P(PlannedAgainstFreeTest, LossAndGradientsAgree) {
  const auto [bottleneck, strategy] = GetParam();
  const ModelConfig config = Config(bottleneck);
  const auto ctx = testing::MakeContext(2);
  HostMemory memory;
  auto store = ParameterStore::Create(memory, ParameterSpecs(config),
                                      StatisticsSpecs(config), /*slots=*/0);
  ASSERT_OK(store);
  (*store)->Initialize(*ctx, 7);
  const TestTensor images = TestTensor::Random(
      {kImages, config.image_height, config.image_width, 3}, 11);
  const std::vector<int32_t> labels = {1, 0, 9, 4};

  auto network = Network::Create(
      *ctx, config, {.strategy = strategy, .max_batch = kImages}, **store);
  ASSERT_OK(network);
  auto arena = Arena::Create(memory, (*network)->plan().arena_bytes());
  ASSERT_OK(arena);
  (*network)->Bind(*arena);
  const auto planned = (*network)->TrainStep(images.view(), labels, 5, 0);
  ASSERT_OK(planned);

  Tape tape(*ctx, memory);
  const FreeDenseNet net = FreeNet(config);
  FreeDenseNet::Parameters parameters;
  for (const ParameterSpec& spec : (*store)->parameters()) {
    parameters[spec.name] = (*store)->value((*store)->IndexOf(spec.name));
  }
  const Var loss = MeanSparseSoftmaxCrossEntropy(
      net.Logits(parameters, tape.Leaf("images", images.view())),
      tape.Leaf("labels",
                ConstTensorView(labels.data(), DType::kInt32, {kImages})));
  const StatusOr<float> value = tape.Item(loss);
  ASSERT_OK(value);
  const double tolerance = testing::GradientTolerance(9 * 4 * 16);
  EXPECT_NEAR(planned->loss_sum / kImages, *value, tolerance * *value);

  std::vector<Var> xs;
  for (const auto& [name, view] : parameters) {
    xs.push_back(tape.Leaf(name, view));
  }
  const StatusOr<std::vector<Tensor>> gradients = tape.Gradients({loss}, xs);
  ASSERT_OK(gradients);
  std::vector<double> free_gradient, planned_gradient;
  for (size_t i = 0; i < xs.size(); ++i) {
    const std::vector<double> a = ToVector((*gradients)[i].view());
    const std::vector<double> b =
        ToVector((*store)->gradient((*store)->IndexOf(xs[i].name())));
    free_gradient.insert(free_gradient.end(), a.begin(), a.end());
    planned_gradient.insert(planned_gradient.end(), b.begin(), b.end());
  }
  EXPECT_LT(RelativeNorm(planned_gradient, free_gradient), tolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, PlannedAgainstFreeTest,
    ::testing::Combine(::testing::Bool(),
                       ::testing::ValuesIn(std::vector<Strategy>(
                           AllStrategies().begin(), AllStrategies().end()))),
    [](const auto& test) {
      std::string name(Name(std::get<1>(test.param)));
      std::replace(name.begin(), name.end(), '-', '_');
      return name + (std::get<0>(test.param) ? "_bottleneck" : "_basic");
    });

}  // namespace
}  // namespace densenet
