#include "densenet/class_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/host_memory.h"
#include "tests/densenet/data/test_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;

const std::vector<std::string> kClasses = {"ants", "big bees", "wasps"};

TEST(ClassWeights, TextsAndFiles) {
  TempDir dir;
  EXPECT_EQ(*ParseClassWeights("balanced", kClasses), "balanced");
  EXPECT_EQ(*ParseClassWeights("1,2.5,0", kClasses), "1,2.5,0");
  EXPECT_EQ(*ParseClassWeights(dir.Write("plain", "1\n2.5\n\n0.1\n"), kClasses),
            "1,2.5,0.1");
  EXPECT_EQ(*ParseClassWeights(dir.Write("named",
                                         "# of the summer\nwasps\t3 # many\n"
                                         "ants 0.5\r\nbig bees  2"),
                               kClasses),
            "0.5,2,3");
}

TEST(ClassWeights, ErrorsNameTheLine) {
  TempDir dir;
  const auto fails = [&](const std::string& text,
                         const std::vector<std::string>& parts) {
    EXPECT_THAT(ParseClassWeights(dir.Write("w", text), kClasses),
                Fails(StatusCode::kInvalidArgument, parts));
  };
  fails("1\n2\n", {"no weight for class 2 (wasps)"});
  fails("1\n2\n3\n4\n", {"line 4", "only 3 classes"});
  fails("ants 1\nants 2\n", {"line 2", "already"});
  fails("ants 1\nflies 2\n", {"line 2", "flies", "no such class"});
  fails("ants -1\n", {"line 1", "0 or more"});
  fails("1\nmany\n", {"line 2", "many"});
  fails("0\n0\n0\n", {"over 0"});
  EXPECT_THAT(ParseClassWeights("1,2", kClasses),
              Fails(StatusCode::kInvalidArgument, {"2 weights for 3 classes"}));
  EXPECT_THAT(ParseClassWeights(dir.File("gone"), kClasses),
              Fails(StatusCode::kNotFound, {"--class-weights", "gone"}));
}

TEST(ClassWeights, BalancedOfTheExamplesTrainedOn) {
  HostMemory memory;
  const Dataset set =
      testing::RandomDataset(9, 2, 2, 1, memory);  // 0, 1, 2, ..
  const auto source = [&](std::vector<int64_t> examples) {
    return *BatchSource::Create(&set, {{0.5}, {0.5}}, {.shuffle = true},
                                std::move(examples));
  };
  // Four of class 0, one of class 1, none of class 2.
  EXPECT_THAT(*MakeClassWeights("balanced", source({0, 3, 6, 0, 1})),
              ElementsAre(5.0f / 8, 5.0f / 2, 0.0f));
  EXPECT_THAT(*MakeClassWeights("balanced", source({0, 1, 2})),
              ElementsAre(1.0f, 1.0f, 1.0f));
  EXPECT_THAT(*MakeClassWeights("1,2,0.5", source({0})),
              ElementsAre(1.0f, 2.0f, 0.5f));
  EXPECT_THAT(MakeClassWeights("1,2", source({0})),
              Fails(StatusCode::kInvalidArgument, {"3 numbers"}));
}

}  // namespace
}  // namespace densenet
