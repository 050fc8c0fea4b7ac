#include "densenet/checkpoint_average.h"

#include <gtest/gtest.h>

#include "memory/host_memory.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

class CheckpointAverageTest : public ::testing::Test {
 protected:
  CheckpointAverageTest() {
    info_.model = *CifarConfig(10, 4, /*bottleneck=*/true, 0.5);
    info_.data.dataset = "cifar10";
    info_.data.class_names.assign(10, "class");
    info_.data.normalization = {{0.1, 0.2, 0.5}, {0.2, 0.25, 1}};
    info_.run = {{"seed", 1}};
  }
  std::unique_ptr<ParameterStore> MakeStore() {
    return *ParameterStore::Create(memory_, ParameterSpecs(info_.model),
                                   StatisticsSpecs(info_.model), 0);
  }
  // Of parameters `value` and statistics `value` + 1.
  Checkpoint Save(const std::string& name, int64_t step, float value) {
    const std::unique_ptr<ParameterStore> store = MakeStore();
    for (float& v : store->values()) v = value;
    for (float& v : store->statistics_values()) v = value + 1;
    info_.progress.global_step = step;
    info_.progress.best_step = step;
    EXPECT_OK(SaveCheckpoint(dir_.File(name), info_, *store, {}));
    return *Checkpoint::Open(dir_.File(name));
  }

  testing::TempDir dir_;
  HostMemory memory_;
  CheckpointInfo info_;
};

TEST_F(CheckpointAverageTest, MeansOfParametersAndStatistics) {
  std::vector<Checkpoint> checkpoints;
  checkpoints.push_back(Save("a", 30, 1));
  checkpoints.push_back(Save("b", 50, 2));
  checkpoints.push_back(Save("c", 40, 6.5f));
  const StatusOr<AveragedNetwork> average =
      AverageCheckpoints(memory_, checkpoints);
  ASSERT_OK(average);
  const auto mean = static_cast<float>(9.5 / 3);
  for (float v : average->store->values()) ASSERT_EQ(v, mean);
  for (float v : average->store->statistics_values()) {
    ASSERT_EQ(v, static_cast<float>(12.5 / 3));
  }
  EXPECT_EQ(average->info.progress.global_step, 50);
  EXPECT_EQ(average->info.progress.best_step, -1);
  EXPECT_EQ(average->info.run.at("average-of").dump(), R"(["a","b","c"])");
  EXPECT_TRUE(average->info.data == info_.data);
}

TEST_F(CheckpointAverageTest, OtherNetworksHaveNone) {
  std::vector<Checkpoint> checkpoints;
  checkpoints.push_back(Save("a", 1, 1));
  EXPECT_THAT(AverageCheckpoints(memory_, checkpoints),
              Fails(StatusCode::kInvalidArgument, {"two"}));
  info_.data.normalization.mean[1] = 0.25;
  checkpoints.push_back(Save("b", 2, 1));
  EXPECT_THAT(AverageCheckpoints(memory_, checkpoints),
              Fails(StatusCode::kInvalidArgument,
                    {"mean is [0.1,0.2,0.5]", "[0.1,0.25,0.5]"}));
  checkpoints.pop_back();
  info_.data.normalization.mean[1] = 0.2;
  info_.model = *CifarConfig(10, 5, /*bottleneck=*/true, 0.5);
  checkpoints.push_back(Save("c", 2, 1));
  EXPECT_THAT(AverageCheckpoints(memory_, checkpoints),
              Fails(StatusCode::kInvalidArgument, {"growth_rate is 4", "5"}));
}

}  // namespace
}  // namespace densenet
