#include "densenet/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "densenet/checkpoint_folder.h"
#include "memory/host_memory.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::Slurp;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;

const std::vector<std::string> kSlots = {"velocity"};

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    info_.model = *CifarConfig(10, 4, /*bottleneck=*/true, 0.5);
    info_.data.dataset = "cifar10";
    info_.data.train_examples = 45;
    for (int i = 0; i < 10; ++i) {
      info_.data.class_names.push_back(fmt::format("class \"{}\"", i));
    }
    info_.data.normalization = {{0.1, 1.0 / 3, 0.5}, {0.2, 0.25, 1e-3}};
    info_.run = {{"depth", 10}};
    info_.progress.global_step = 7;
    info_.progress.epoch = 1;
    info_.progress.batch = 2;
    info_.progress.loss_sum = 1.0 / 7;
    info_.progress.seconds = 1.0 / 3;
    info_.progress.total_seconds = 1e5 / 3;
    info_.progress.best_error = 33.25;
    info_.progress.best_step = 5;
    store_ = MakeStore();
    store_->Initialize(**Context::Create({.threads = 1}), 3);
    for (float& v : store_->slot(0)) v = 0.5f;
  }

  std::unique_ptr<ParameterStore> MakeStore() {
    return *ParameterStore::Create(memory_, ParameterSpecs(info_.model),
                                   StatisticsSpecs(info_.model), 1);
  }
  Status Save(int64_t step, const CheckpointFolder& folder) {
    info_.progress.global_step = step;
    return folder.Save(info_, *store_, kSlots);
  }
  std::vector<std::string> Names() { return dir_.Names(); }

  TempDir dir_;
  HostMemory memory_;
  CheckpointInfo info_;
  std::unique_ptr<ParameterStore> store_;
};

TEST_F(CheckpointTest, RoundTripsEverything) {
  const std::string path = dir_.File("c.safetensors");
  ASSERT_OK(SaveCheckpoint(path, info_, *store_, kSlots));
  StatusOr<Checkpoint> read = Checkpoint::Open(path);
  ASSERT_OK(read);
  EXPECT_TRUE(read->info().model == info_.model);
  EXPECT_TRUE(read->info().data == info_.data);
  EXPECT_EQ(read->info().run, info_.run);
  EXPECT_TRUE(read->info().progress == info_.progress);
  std::unique_ptr<ParameterStore> other = MakeStore();
  ASSERT_OK(read->ReadAll(*other, kSlots));
  EXPECT_EQ(other->values(), store_->values());
  EXPECT_EQ(other->slot(0), store_->slot(0));
  EXPECT_EQ(other->statistics_values(), store_->statistics_values());
  EXPECT_THAT(read->ReadAll(*other, {"moment"}),
              Fails(StatusCode::kDataLoss, {"optimizer/moment/"}));
}

TEST_F(CheckpointTest, HoldsThePresetsParameterCount) {
  const std::string path = dir_.File("c.safetensors");
  ASSERT_OK(SaveCheckpoint(path, info_, *store_, kSlots));
  StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  ASSERT_OK(file);
  int64_t parameters = 0;
  for (const auto& [name, entry] : file->tensors()) {
    if (name.rfind("parameters/", 0) == 0) parameters += entry.elems();
  }
  EXPECT_EQ(parameters, ParameterCount(info_.model));
}

TEST_F(CheckpointTest, DamageIsFoundWhereverItIs) {
  const std::string path = dir_.File("c.safetensors");
  ASSERT_OK(SaveCheckpoint(path, info_, *store_, kSlots));
  const std::string good = Slurp(path);
  for (size_t size :
       {size_t{0}, size_t{5}, size_t{100}, good.size() / 2, good.size() - 1}) {
    dir_.Write("c.safetensors", good.substr(0, size));
    EXPECT_THAT(Checkpoint::Open(path),
                Fails(StatusCode::kDataLoss, {"c.safetensors"}))
        << size << " bytes";
  }
  for (size_t at :
       {size_t{0}, size_t{9}, size_t{300}, good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    dir_.Write("c.safetensors", bad);
    EXPECT_FALSE(Checkpoint::Open(path).ok()) << "bit flipped in byte " << at;
  }
}

TEST_F(CheckpointTest, AnotherToolsFileIsNoCheckpoint) {
  const std::string path = dir_.File("x.safetensors");
  const float value = 1;
  const SafetensorsItem item{
      "w", ConstTensorView(&value, DType::kFloat32, Shape{1})};
  ASSERT_OK(WriteSafetensors(path, {&item, 1}, {}));
  EXPECT_THAT(
      Checkpoint::Open(path),
      Fails(StatusCode::kInvalidArgument, {"x.safetensors", "no checkpoint"}));
}

TEST_F(CheckpointTest, EditedDescriptionsAreRefusedInOurWords) {
  const std::string path = dir_.File("c.safetensors");
  ASSERT_OK(SaveCheckpoint(path, info_, *store_, kSlots));
  const SafetensorsMetadata good = SafetensorsFile::Open(path)->metadata();
  const float value = 1;
  const SafetensorsItem item{
      "w", ConstTensorView(&value, DType::kFloat32, Shape{1})};
  struct Edit {
    const char* key;
    const char* from;
    const char* to;
    std::vector<std::string> parts;
  };
  const Edit edits[] = {
      {kModelMetadata,
       R"("growth_rate":4)",
       R"("growth_rate":"4")",
       {"'growth_rate': expected a whole number, found \"4\""}},
      {kModelMetadata,
       R"("growth_rate":4)",
       R"("rate":4)",
       {"'growth_rate' is missing"}},
      {kModelMetadata,
       R"("growth_rate":4)",
       R"("growth_rate":4,"more":1)",
       {"unknown key 'more'", "later version"}},
      {kDataMetadata,
       R"("dataset":"cifar10")",
       R"("dataset":10)",
       {"data description: 'dataset': expected a text, found 10"}},
      {kClockMetadata, R"("seconds":)", R"("second":)", {"clock: 'seconds'"}},
  };
  for (const Edit& edit : edits) {
    SafetensorsMetadata metadata = good;
    std::string& text = metadata.at(edit.key);
    const size_t at = text.find(edit.from);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, std::string(edit.from).size(), edit.to);
    ASSERT_OK(WriteSafetensors(path, {&item, 1}, metadata));
    const Status status = Checkpoint::Open(path).status();
    for (const std::string& part : edit.parts) {
      EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(part));
    }
    EXPECT_THAT(std::string(status.message()),
                ::testing::Not(::testing::HasSubstr("json")));
  }
}

TEST_F(CheckpointTest, KeepsTheLastFewAndTheBest) {
  const CheckpointFolder folder(dir_.path(), 2);
  ASSERT_OK(Save(2, folder));
  ASSERT_OK(folder.MarkBest(2));
  for (int64_t step : {9, 10, 11}) ASSERT_OK(Save(step, folder));
  EXPECT_THAT(Names(), ElementsAre("best", "model.ckpt-10.safetensors",
                                   "model.ckpt-11.safetensors"));
  StatusOr<Checkpoint> best = folder.OpenBest();
  ASSERT_OK(best);
  EXPECT_EQ(best->info().progress.global_step, 2);
  ASSERT_OK(folder.MarkBest(11));
  EXPECT_EQ(folder.OpenBest()->info().progress.global_step, 11);
  ASSERT_OK(folder.MarkBest(-1));
  EXPECT_THAT(folder.OpenBest(), Fails(StatusCode::kNotFound, {"best"}));
}

TEST_F(CheckpointTest, DamagedNewestGivesWayToTheOneBefore) {
  const CheckpointFolder folder(dir_.path(), 3);
  EXPECT_FALSE(folder.OpenNewest()->has_value());
  ASSERT_OK(Save(4, folder));
  ASSERT_OK(Save(6, folder));
  std::filesystem::resize_file(folder.PathOf(6), 1000);
  StatusOr<std::optional<CheckpointFolder::Opened>> opened =
      folder.OpenNewest();
  ASSERT_OK(opened);
  EXPECT_EQ((*opened)->checkpoint.info().progress.global_step, 4);
  ASSERT_EQ((*opened)->damaged.size(), 1u);
  EXPECT_THAT((*opened)->damaged[0],
              Fails(StatusCode::kDataLoss, {"model.ckpt-6.safetensors"}));
  std::vector<Status> damaged;
  EXPECT_OK(OpenCheckpoint(dir_.path(), false, &damaged));
  EXPECT_EQ(damaged.size(), 1u);
  ASSERT_OK(folder.SetAsideAfter(4));
  EXPECT_THAT(Names(), ElementsAre("model.ckpt-4.safetensors",
                                   "model.ckpt-6.safetensors.damaged"));

  std::filesystem::resize_file(folder.PathOf(4), 0);
  EXPECT_THAT(
      folder.OpenNewest(),
      Fails(StatusCode::kDataLoss, {"none of its 1 checkpoints",
                                    "model.ckpt-4.safetensors", "Move them"}));
}

TEST_F(CheckpointTest, MissingOnesAreNamed) {
  std::vector<Status> damaged;
  EXPECT_THAT(OpenCheckpoint(dir_.path(), false, &damaged),
              Fails(StatusCode::kNotFound, {"holds no checkpoint"}));
  EXPECT_THAT(OpenCheckpoint(dir_.File("no"), false, &damaged),
              Fails(StatusCode::kNotFound, {"no"}));
  EXPECT_THAT(OpenCheckpoint(dir_.File("no"), true, &damaged),
              Fails(StatusCode::kInvalidArgument, {"run folder"}));
}

}  // namespace
}  // namespace densenet
