#include "densenet/model_config.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using testing::Fails;

std::vector<std::string> Described(const std::vector<ParameterSpec>& specs) {
  std::vector<std::string> lines;
  for (const ParameterSpec& s : specs) {
    lines.push_back(s.name + " " + s.shape.ToString());
  }
  return lines;
}

TEST(CifarConfigTest, DepthCountsLayersAsThePaper) {
  StatusOr<ModelConfig> c = CifarConfig(100, 12, /*bottleneck=*/true, 0.5);
  ASSERT_OK(c);
  EXPECT_EQ(c->block_config, (std::vector<int64_t>{16, 16, 16}));
  EXPECT_EQ(c->stem_channels, 24);
  EXPECT_EQ(c->bottleneck_channels(), 48);
  c = CifarConfig(40, 12, /*bottleneck=*/false, 1.0);
  ASSERT_OK(c);
  EXPECT_EQ(c->block_config, (std::vector<int64_t>{12, 12, 12}));
  EXPECT_EQ(c->stem_channels, 16);
  // Only bottleneck and compression together widen the stem.
  EXPECT_EQ(CifarConfig(40, 12, true, 1.0)->stem_channels, 16);
  EXPECT_EQ(CifarConfig(40, 12, false, 0.5)->stem_channels, 16);
  EXPECT_EQ(CifarConfig(10, 12, true, 0.5)->block_config,
            (std::vector<int64_t>{1, 1, 1}));
  EXPECT_EQ(CifarConfig(7, 12, false, 1.0)->block_config,
            (std::vector<int64_t>{1, 1, 1}));
}

struct DepthCase {
  int64_t depth;
  bool bottleneck;
  std::string message;
};

TEST(CifarConfigTest, AnImpossibleDepthNamesTheNearest) {
  const std::string by6 = " with bottleneck: (depth - 4) must divide by 6; ";
  const std::string by3 = " without bottleneck: (depth - 4) must divide by 3; ";
  const std::vector<DepthCase> cases = {
      {41, true, "depth 41" + by6 + "nearest 40 or 46"},
      {45, true, "depth 45" + by6 + "nearest 40 or 46"},
      {11, true, "depth 11" + by6 + "nearest 10 or 16"},
      {9, true, "depth 9" + by6 + "nearest 10"},
      {4, true, "depth 4" + by6 + "nearest 10"},
      {3, true, "depth 3" + by6 + "nearest 10"},
      {0, true, "depth 0" + by6 + "nearest 10"},
      {-5, true, "depth -5" + by6 + "nearest 10"},
      {-8, true, "depth -8" + by6 + "nearest 10"},
      {41, false, "depth 41" + by3 + "nearest 40 or 43"},
      {6, false, "depth 6" + by3 + "nearest 7"},
  };
  for (const DepthCase& c : cases) {
    const StatusOr<ModelConfig> config =
        CifarConfig(c.depth, 12, c.bottleneck, 0.5);
    ASSERT_FALSE(config.ok()) << c.depth;
    EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(StdView(config.status().message()), c.message);
  }
}

TEST(CifarConfigTest, ExtremeDepthsAreErrorsToo) {
  for (int64_t depth : {std::numeric_limits<int64_t>::min(),
                        std::numeric_limits<int64_t>::max()}) {
    const StatusOr<ModelConfig> config = CifarConfig(depth, 12, true, 0.5);
    EXPECT_FALSE(config.ok() && ValidateModelConfig(*config).ok()) << depth;
  }
}

TEST(ValidateModelConfigTest, AcceptsThePapersConfigurations) {
  EXPECT_OK(ValidateModelConfig(ModelConfig()));
  ModelConfig c;
  c.stem = Stem::kImageNet;
  c.block_config = {6, 12, 48, 32};
  c.growth_rate = 32;
  c.stem_channels = 64;
  c.image_height = c.image_width = 224;
  c.classes = 1000;
  EXPECT_OK(ValidateModelConfig(c));
  c = *CifarConfig(190, 40, true, 0.5);
  c.dropout = 0.2;
  EXPECT_OK(ValidateModelConfig(c));
}

struct BadField {
  std::string message;
  std::function<void(ModelConfig&)> spoil;
};

TEST(ValidateModelConfigTest, NamesTheFieldAndItsValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr int64_t kHuge = int64_t{1} << 62;
  const std::vector<BadField> fields = {
      {"block list is empty", [](auto& c) { c.block_config = {}; }},
      {"block of 0 layers",
       [](auto& c) {
         c.block_config = {3, 0};
       }},
      {"growth rate 0", [](auto& c) { c.growth_rate = 0; }},
      {"compression 0", [](auto& c) { c.compression = 0; }},
      {"compression 1.5", [](auto& c) { c.compression = 1.5; }},
      {"compression nan", [=](auto& c) { c.compression = nan; }},
      {"dropout 1: expected in [0, 1)", [](auto& c) { c.dropout = 1; }},
      {"dropout -0.1", [](auto& c) { c.dropout = -0.1; }},
      {"dropout nan", [=](auto& c) { c.dropout = nan; }},
      {"stem of 0 channels", [](auto& c) { c.stem_channels = 0; }},
      {"images of 0", [](auto& c) { c.image_channels = 0; }},
      {"1 classes", [](auto& c) { c.classes = 1; }},
      {"epsilon 0", [](auto& c) { c.batch_norm_epsilon = 0; }},
      {"momentum 0", [](auto& c) { c.batch_norm_momentum = 0; }},
      {"momentum 1.1", [](auto& c) { c.batch_norm_momentum = 1.1; }},
      {"images of 3 x 32 have no pixels left in block 3 of 3",
       [](auto& c) { c.image_height = 3; }},
      {"images of 32 x 0", [](auto& c) { c.image_width = 0; }},
      {"images of -4 x 32", [](auto& c) { c.image_height = -4; }},
      {"compression 0.001 leaves no channel of 216 after block 1",
       [](auto& c) { c.compression = 0.001; }},
      {"channels", [](auto& c) { c.growth_rate = kHuge; }},
      {"channels", [](auto& c) { c.stem_channels = kHuge; }},
      {"channels", [](auto& c) { c.image_channels = kHuge; }},
      {"channels",
       [](auto& c) {
         c.block_config = {1, kHuge, 1};
       }},
      {"classes", [](auto& c) { c.classes = kHuge; }},
      {"pixels", [](auto& c) { c.image_height = c.image_width = kHuge; }},
  };
  for (const BadField& field : fields) {
    ModelConfig config;
    field.spoil(config);
    EXPECT_THAT(ValidateModelConfig(config),
                Fails(StatusCode::kInvalidArgument, {field.message}));
  }
}

TEST(ModelConfigTest, Extents) {
  ModelConfig c;
  c.image_height = 33;
  c.image_width = 30;
  EXPECT_EQ(BlockExtent(c, 0).height, 33);
  EXPECT_EQ(BlockExtent(c, 1).height, 16);
  EXPECT_EQ(BlockExtent(c, 1).width, 15);
  EXPECT_EQ(BlockExtent(c, 2).height, 8);
  EXPECT_EQ(BlockExtent(c, 2).width, 7);
  c.stem = Stem::kImageNet;
  c.image_height = 224;
  c.image_width = 225;
  EXPECT_EQ(BlockExtent(c, 0).height, 56);
  EXPECT_EQ(BlockExtent(c, 0).width, 57);
  EXPECT_EQ(BlockExtent(c, 2).height, 14);
}

TEST(ModelConfigTest, ChannelsAreFlooredAtTransitions) {
  ModelConfig c;
  c.block_config = {1, 2, 1};
  c.growth_rate = 5;
  c.stem_channels = 10;
  EXPECT_EQ(BlockInputChannels(c, 0), 10);
  EXPECT_EQ(BlockOutputChannels(c, 0), 15);
  EXPECT_EQ(BlockInputChannels(c, 1), 7);
  EXPECT_EQ(BlockOutputChannels(c, 1), 17);
  EXPECT_EQ(BlockInputChannels(c, 2), 8);
  EXPECT_EQ(BlockOutputChannels(c, 2), 13);
}

TEST(ModelConfigTest, MultiplyAddsOfThePublishedNetwork) {
  const ModelConfig config = *CifarConfig(100, 12, true, 0.5);
  EXPECT_EQ(MultiplyAdds(config), 287926272);
}

// Counted by hand, convolution by convolution.
TEST(ModelConfigTest, MultiplyAddsOfASmallNetwork) {
  ModelConfig c;
  c.block_config = {1, 1};
  c.growth_rate = 2;
  c.stem_channels = 4;
  c.image_height = c.image_width = 4;
  c.image_channels = 1;
  c.classes = 3;
  const int64_t stem = 16 * 9 * 1 * 4;
  const int64_t block1 = 16 * (4 * 8 + 9 * 8 * 2);
  const int64_t transition = 16 * 6 * 3;
  const int64_t block2 = 4 * (3 * 8 + 9 * 8 * 2);
  EXPECT_EQ(MultiplyAdds(c), stem + block1 + transition + block2);
  c.stem = Stem::kImageNet;
  c.image_height = c.image_width = 16;
  EXPECT_EQ(MultiplyAdds(c), 64 * 49 * 4 + block1 + transition + block2);
}

ModelConfig TwoBlocks() {
  ModelConfig c;
  c.block_config = {2, 1};
  c.growth_rate = 3;
  c.stem_channels = 6;
  c.classes = 7;
  return c;
}

TEST(ModelConfigTest, ParametersOfABottleneckNetInForwardOrder) {
  const std::string layer1 = "features.denseblock1.denselayer1.";
  const std::string layer2 = "features.denseblock1.denselayer2.";
  const std::string layer3 = "features.denseblock2.denselayer1.";
  EXPECT_EQ(Described(ParameterSpecs(TwoBlocks())),
            (std::vector<std::string>{
                "features.conv0.weight (3, 3, 3, 6)",
                layer1 + "norm1.weight (6)",
                layer1 + "norm1.bias (6)",
                layer1 + "conv1.weight (1, 1, 6, 12)",
                layer1 + "norm2.weight (12)",
                layer1 + "norm2.bias (12)",
                layer1 + "conv2.weight (3, 3, 12, 3)",
                layer2 + "norm1.weight (9)",
                layer2 + "norm1.bias (9)",
                layer2 + "conv1.weight (1, 1, 9, 12)",
                layer2 + "norm2.weight (12)",
                layer2 + "norm2.bias (12)",
                layer2 + "conv2.weight (3, 3, 12, 3)",
                "features.transition1.norm.weight (12)",
                "features.transition1.norm.bias (12)",
                "features.transition1.conv.weight (1, 1, 12, 6)",
                layer3 + "norm1.weight (6)",
                layer3 + "norm1.bias (6)",
                layer3 + "conv1.weight (1, 1, 6, 12)",
                layer3 + "norm2.weight (12)",
                layer3 + "norm2.bias (12)",
                layer3 + "conv2.weight (3, 3, 12, 3)",
                "features.norm3.weight (9)",
                "features.norm3.bias (9)",
                "classifier.weight (9, 7)",
                "classifier.bias (7)",
            }));
}

TEST(ModelConfigTest, BasicLayersAndTheImageNetStem) {
  ModelConfig c = TwoBlocks();
  c.bottleneck = false;
  c.stem = Stem::kImageNet;
  c.block_config = {1};
  const std::string layer = "features.denseblock1.denselayer1.";
  EXPECT_EQ(Described(ParameterSpecs(c)),
            (std::vector<std::string>{
                "features.conv0.weight (7, 7, 3, 6)",
                "features.norm0.weight (6)",
                "features.norm0.bias (6)",
                layer + "norm1.weight (6)",
                layer + "norm1.bias (6)",
                layer + "conv1.weight (3, 3, 6, 3)",
                "features.norm2.weight (9)",
                "features.norm2.bias (9)",
                "classifier.weight (9, 7)",
                "classifier.bias (7)",
            }));
  EXPECT_EQ(Described(StatisticsSpecs(c)),
            (std::vector<std::string>{
                "features.norm0.running_mean (6)",
                "features.norm0.running_var (6)",
                layer + "norm1.running_mean (6)",
                layer + "norm1.running_var (6)",
                "features.norm2.running_mean (9)",
                "features.norm2.running_var (9)",
            }));
}

// Every norm has its statistics, and they start where a norm is the identity.
TEST(ModelConfigTest, StatisticsBelongToTheNorms) {
  const ModelConfig c = TwoBlocks();
  std::set<std::string> norms;
  for (const ParameterSpec& spec : ParameterSpecs(c)) {
    const size_t end = spec.name.rfind(".weight");
    if (spec.shape.rank() == 1 && end != std::string::npos) {
      EXPECT_EQ(spec.initial, InitialValue::kOnes) << spec.name;
      norms.insert(spec.name.substr(0, end));
    }
  }
  EXPECT_EQ(StatisticsSpecs(c).size(), 2 * norms.size());
  for (const ParameterSpec& spec : StatisticsSpecs(c)) {
    EXPECT_EQ(norms.count(spec.name.substr(0, spec.name.rfind('.'))), 1u);
    const bool var = spec.name.find("running_var") != std::string::npos;
    EXPECT_EQ(spec.initial, var ? InitialValue::kOnes : InitialValue::kZeros);
  }
}

TEST(ModelConfigTest, ParameterCountIsTheSum) {
  int64_t count = 0;
  for (const ParameterSpec& spec : ParameterSpecs(TwoBlocks())) {
    count += spec.shape.elems();
  }
  EXPECT_EQ(ParameterCount(TwoBlocks()), count);
}

TEST(DepthOfTest, IsCountedAsThePaperDoes) {
  EXPECT_EQ(DepthOf(*CifarConfig(100, 12, true, 0.5)), 100);
  EXPECT_EQ(DepthOf(*CifarConfig(40, 12, false, 1)), 40);
  ModelConfig model;
  model.block_config = {6, 12, 24, 16};
  EXPECT_EQ(DepthOf(model), 121);
}

}  // namespace
}  // namespace densenet
