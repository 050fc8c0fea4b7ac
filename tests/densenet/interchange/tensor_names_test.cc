#include "densenet/interchange/tensor_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace densenet {
namespace {

using ::testing::ElementsAre;

const Naming& Find(std::string_view name) {
  for (const Naming& naming : Namings()) {
    if (naming.name == name) return naming;
  }
  ADD_FAILURE() << name;
  return Namings()[0];
}

TEST(ForeignName, EveryModuleUnderEveryConvention) {
  const char* const kOurs[] = {"features.conv0.weight",
                               "features.denseblock2.denselayer3.norm1.bias",
                               "features.denseblock2.denselayer3.conv2.weight",
                               "features.transition1.norm.running_var",
                               "features.transition1.conv.weight",
                               "features.norm4.running_mean",
                               "classifier.bias"};
  const std::map<std::string, std::vector<std::string>> expected = {
      {"torchvision",
       {"features.conv0.weight", "features.denseblock2.denselayer3.norm1.bias",
        "features.denseblock2.denselayer3.conv2.weight",
        "features.transition1.norm.running_var",
        "features.transition1.conv.weight", "features.norm5.running_mean",
        "classifier.bias"}},
      {"andreasveit",
       {"conv1.weight", "block2.layer.2.bn1.bias",
        "block2.layer.2.conv2.weight", "trans1.bn1.running_var",
        "trans1.conv1.weight", "bn1.running_mean", "fc.bias"}},
      {"bamos",
       {"conv1.weight", "dense2.2.bn1.bias", "dense2.2.conv2.weight",
        "trans1.bn1.running_var", "trans1.conv1.weight", "bn1.running_mean",
        "fc.bias"}},
      {"kuangliu",
       {"conv1.weight", "dense2.2.bn1.bias", "dense2.2.conv2.weight",
        "trans1.bn.running_var", "trans1.conv.weight", "bn.running_mean",
        "linear.bias"}},
  };
  ASSERT_EQ(Namings().size(), expected.size());
  for (const auto& [naming, names] : expected) {
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(ForeignName(Find(naming), kOurs[i]), names[i]) << naming;
    }
  }
}

TEST(PlainName, WrappersAndOldSpellingsGo) {
  EXPECT_EQ(PlainName("module.model.conv1.weight"), "conv1.weight");
  EXPECT_EQ(PlainName("_orig_mod.fc.bias"), "fc.bias");
  EXPECT_EQ(
      PlainName("module.features.denseblock1.denselayer1.norm.1.running_mean"),
      "features.denseblock1.denselayer1.norm1.running_mean");
  EXPECT_EQ(PlainName("features.denseblock1.denselayer1.conv.2.weight"),
            "features.denseblock1.denselayer1.conv2.weight");
  EXPECT_EQ(PlainName("features.norm_final.weight"), "features.norm5.weight");
  EXPECT_EQ(PlainName("features.norm4.weight"), "features.norm5.weight");
  EXPECT_EQ(PlainName("features.norm0.weight"), "features.norm0.weight");
  // Only of a layer.
  EXPECT_EQ(PlainName("other.norm.1.weight"), "other.norm.1.weight");
  EXPECT_EQ(PlainName("x"), "x");
}

TEST(ForeignLayout, FiltersAndMatrices) {
  EXPECT_THAT(ForeignShape({3, 5, 2, 7}), ElementsAre(7, 2, 3, 5));
  EXPECT_THAT(ForeignShape({4, 6}), ElementsAre(6, 4));
  EXPECT_THAT(ForeignShape({4}), ElementsAre(4));
  for (const Shape& shape : {Shape{3, 5, 2, 7}, Shape{4, 6}, Shape{9}}) {
    std::vector<float> ours(static_cast<size_t>(shape.elems()));
    std::iota(ours.begin(), ours.end(), 0.0f);
    std::vector<float> theirs(ours.size()), again(ours.size());
    ToForeign(ours, shape, absl::MakeSpan(theirs));
    if (shape.rank() == 4) {
      // (r, s, c, k) = (1, 2, 1, 3)
      EXPECT_EQ(theirs[((3 * 2 + 1) * 3 + 1) * 5 + 2],
                ours[((1 * 5 + 2) * 2 + 1) * 7 + 3]);
    }
    FromForeign(theirs, shape, {}, absl::MakeSpan(again));
    EXPECT_EQ(again, ours);
  }
}

// Channels of block `block` as labels, put together as kuangliu's layers do:
// torch.cat([new, old]).
std::vector<int64_t> NewestFirst(const ModelConfig& config, int64_t block,
                                 int64_t layers) {
  std::vector<int64_t> labels(
      static_cast<size_t>(BlockInputChannels(config, block)));
  std::iota(labels.begin(), labels.end(), 0);
  for (int64_t l = 0; l < layers; ++l) {
    std::vector<int64_t> fresh(static_cast<size_t>(config.growth_rate));
    std::iota(fresh.begin(), fresh.end(),
              BlockInputChannels(config, block) + l * config.growth_rate);
    fresh.insert(fresh.end(), labels.begin(), labels.end());
    labels = std::move(fresh);
  }
  return labels;
}

TEST(InputChannels, UndoTheOrderOfConcatenation) {
  ModelConfig config = *CifarConfig(22, 4, /*bottleneck=*/true, 0.5);
  const Naming& kuangliu = Find("kuangliu");
  struct Case {
    std::string name;
    int64_t block, layers;
  };
  const Case cases[] = {
      {"features.denseblock1.denselayer1.norm1.weight", 0, 0},
      {"features.denseblock1.denselayer3.norm1.running_var", 0, 2},
      {"features.denseblock2.denselayer2.conv1.weight", 1, 1},
      {"features.transition2.norm.bias", 1, 3},
      {"features.transition1.conv.weight", 0, 3},
      {"features.norm4.weight", 2, 3},
      {"classifier.weight", 2, 3},
  };
  for (const Case& c : cases) {
    const std::vector<int64_t> channels =
        InputChannels(kuangliu, config, c.name);
    const std::vector<int64_t> labels = NewestFirst(config, c.block, c.layers);
    ASSERT_EQ(channels.size(), labels.size()) << c.name;
    for (size_t ours = 0; ours < channels.size(); ++ours) {
      EXPECT_EQ(labels[static_cast<size_t>(channels[ours])],
                static_cast<int64_t>(ours))
          << c.name;
    }
    EXPECT_THAT(InputChannels(Namings()[0], config, c.name), ElementsAre());
  }
  for (const char* other : {"features.conv0.weight", "classifier.bias",
                            "features.denseblock1.denselayer3.norm2.weight",
                            "features.denseblock1.denselayer3.conv2.weight"}) {
    EXPECT_THAT(InputChannels(kuangliu, config, other), ElementsAre()) << other;
  }
}

}  // namespace
}  // namespace densenet
