#include "densenet/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

// The published counts: 10 and 100 classes; ImageNet's are torchvision's.
struct Row {
  const char* name;
  int64_t depth;
  int64_t classes;
  int64_t parameters;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name << " with " << row.classes << " classes";
}

class PresetRow : public ::testing::TestWithParam<Row> {};

TEST_P(PresetRow, HasThePublishedParameterCount) {
  const Preset* preset = FindPresetOrNull(GetParam().name);
  ASSERT_NE(preset, nullptr);
  EXPECT_EQ(preset->depth, GetParam().depth);
  EXPECT_EQ(PresetParameterCount(*preset, GetParam().classes),
            GetParam().parameters);
  EXPECT_OK(ValidateModelConfig(preset->model));
}

INSTANTIATE_TEST_SUITE_P(
    Paper, PresetRow,
    ::testing::Values(Row{"densenet-40-12", 40, 10, 1'019'722},
                      Row{"densenet-40-12", 40, 100, 1'060'132},
                      Row{"densenet-100-12", 100, 10, 6'979'642},
                      Row{"densenet-100-12", 100, 100, 7'084'852},
                      Row{"densenet-100-24", 100, 10, 27'249'082},
                      Row{"densenet-100-24", 100, 100, 27'457'972},
                      Row{"densenet-bc-100-12", 100, 10, 769'162},
                      Row{"densenet-bc-100-12", 100, 100, 800'032},
                      Row{"densenet-bc-250-24", 250, 10, 15'324'406},
                      Row{"densenet-bc-250-24", 250, 100, 15'480'556},
                      Row{"densenet-bc-190-40", 190, 10, 25'624'430},
                      Row{"densenet-bc-190-40", 190, 100, 25'821'620},
                      Row{"densenet-121", 121, 1000, 7'978'856},
                      Row{"densenet-161", 161, 1000, 28'681'000},
                      Row{"densenet-169", 169, 1000, 14'149'480},
                      Row{"densenet-201", 201, 1000, 20'013'928},
                      Row{"densenet-264", 264, 1000, 33'337'704}));

TEST(Presets, EveryPublishedErrorIsThere) {
  std::map<std::string, int> results;
  for (const Preset& preset : Presets()) {
    for (const PublishedResult& result : preset.results) {
      ++results[result.dataset + (result.augmented ? "+" : "")];
      EXPECT_GT(result.error_percent, 0);
      EXPECT_LT(result.error_percent, 30);
      EXPECT_GT(PaperClasses(result.dataset), 0);
    }
  }
  EXPECT_EQ(results, (std::map<std::string, int>{{"cifar10", 5},
                                                 {"cifar10+", 6},
                                                 {"cifar100", 5},
                                                 {"cifar100+", 6},
                                                 {"svhn", 5},
                                                 {"imagenet+", 5}}));
  const Preset* bc = FindPresetOrNull("densenet-bc-100-12");
  EXPECT_EQ(bc->results[1].error_percent, 4.51);
  EXPECT_EQ(bc->results[4].error_percent, 1.76);
}

TEST(Presets, RecipeIsThePapers) {
  EXPECT_EQ(PaperRecipe("cifar10", false)->dropout, 0.2);
  EXPECT_EQ(PaperRecipe("cifar10", true)->dropout, 0.0);
  EXPECT_EQ(PaperRecipe("cifar100", true)->epochs, 300);
  EXPECT_EQ(PaperRecipe("svhn", false)->epochs, 40);
  EXPECT_EQ(PaperRecipe("imagenet", true)->batch, 256);
  EXPECT_FALSE(PaperRecipe("mnist", false).has_value());
}

TEST(Presets, UnknownNameListsTheKnown) {
  EXPECT_THAT(
      FindPreset("densenet-42"),
      Fails(StatusCode::kNotFound, {"unknown preset 'densenet-42'",
                                    "densenet-bc-100-12", "densenet-264"}));
}

}  // namespace
}  // namespace densenet
