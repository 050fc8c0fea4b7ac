#include "densenet/run_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "densenet/byte_size.h"
#include "densenet/cli/train_options.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;

RunOptions Bc40() {
  RunOptions o;
  o.depth = 40;
  o.bottleneck = true;
  o.dataset = "cifar10";
  return o;
}

TEST(RunConfig, CompressionFollowsTheBottleneck) {
  RunOptions o = Bc40();
  StatusOr<RunConfig> c = ResolveRunConfig(o);
  ASSERT_OK(c);
  EXPECT_EQ(c->model.compression, 0.5);
  EXPECT_EQ(c->model.stem_channels, 24);
  EXPECT_THAT(c->model.block_config, ElementsAre(6, 6, 6));
  EXPECT_EQ(ModelName(c->model), "densenet-bc-40-12");
  EXPECT_EQ(c->out, "runs/densenet-bc-40-12-cifar10-seed1");
  o.bottleneck = std::nullopt;
  c = ResolveRunConfig(o);
  ASSERT_OK(c);
  EXPECT_EQ(c->model.compression, 1.0);
  EXPECT_EQ(c->model.stem_channels, 16);
  EXPECT_EQ(c->preset, "");
  o.compression = 0.8;
  EXPECT_EQ(ResolveRunConfig(o)->model.compression, 0.8);
}

TEST(RunConfig, DefaultsAreThePapers) {
  StatusOr<RunConfig> c = ResolveRunConfig(Bc40());
  ASSERT_OK(c);
  EXPECT_EQ(c->batch, 64);
  EXPECT_EQ(c->epochs, 300);
  EXPECT_EQ(c->optimizer.name, "nesterov");
  EXPECT_EQ(c->optimizer.momentum, 0.9f);
  EXPECT_EQ(c->optimizer.weight_decay, 1e-4f);
  EXPECT_EQ(c->schedule.name, "step");
  EXPECT_EQ(c->schedule.learning_rate, 0.1);
  EXPECT_EQ(c->model.dropout, 0);
  EXPECT_EQ(c->model.classes, 10);
  RunOptions mnist = Bc40();
  mnist.dataset = "mnist";
  c = ResolveRunConfig(mnist);
  ASSERT_OK(c);
  EXPECT_EQ(c->epochs, 40);
  EXPECT_EQ(c->model.image_height, 28);
  EXPECT_EQ(c->model.image_channels, 1);
}

TEST(RunConfig, PresetBringsItsRecipeAndOptionsWin) {
  RunOptions o;
  o.preset = "densenet-bc-100-12";
  o.dataset = "cifar100";
  StatusOr<RunConfig> c = ResolveRunConfig(o);
  ASSERT_OK(c);
  EXPECT_EQ(c->preset, "densenet-bc-100-12");
  EXPECT_EQ(c->model.dropout, 0.2);
  EXPECT_EQ(c->model.classes, 100);
  EXPECT_EQ(ParameterCount(c->model), 800'032);
  o.augment = "cifar";
  EXPECT_EQ(ResolveRunConfig(o)->model.dropout, 0);
  o.dropout = 0.1;
  o.growth = 24;
  c = ResolveRunConfig(o);
  ASSERT_OK(c);
  EXPECT_EQ(c->preset, "");
  EXPECT_EQ(c->model.dropout, 0.1);
  EXPECT_EQ(c->model.stem_channels, 48);
}

TEST(RunConfig, SvhnIsTrainedAsInThePaper) {
  RunOptions o;
  o.preset = "densenet-bc-100-12";
  o.dataset = "svhn";
  StatusOr<RunConfig> c = ResolveRunConfig(o);
  ASSERT_OK(c);
  EXPECT_EQ(c->epochs, 40);
  EXPECT_EQ(c->validation, 6000);
  EXPECT_EQ(c->normalize, "0/1");
  EXPECT_EQ(c->model.dropout, 0.2);
  EXPECT_FALSE(ToJson(*c).contains("normalize"));
  o.normalize = "dataset";
  EXPECT_EQ(ToJson(*ResolveRunConfig(o))["normalize"], "dataset");
  o.growth = 13;  // no network of the paper
  o.normalize = std::nullopt;
  c = ResolveRunConfig(o);
  ASSERT_OK(c);
  EXPECT_EQ(c->validation, 0);
  EXPECT_EQ(c->normalize, "dataset");
}

TEST(RunConfig, PhotographsOfAThousandClassesAreImageNet) {
  TempDir dir;
  for (int i = 0; i < 1000; ++i) {
    std::filesystem::create_directories(
        dir.File(fmt::format("train/class{:03}", i)));
    dir.Write(fmt::format("train/class{:03}/a.jpg", i), "");
  }
  RunOptions o;
  o.preset = "densenet-121";
  o.dataset = "folder";
  o.data = dir.path();
  StatusOr<RunConfig> c = ResolveRunConfig(o);
  ASSERT_OK(c);
  EXPECT_EQ(c->epochs, 90);
  EXPECT_EQ(c->batch, 256);
  EXPECT_EQ(c->normalize, "imagenet");
  EXPECT_EQ(c->augment, AugmentKind::kImageNet);
  EXPECT_EQ(c->model.dropout, 0);
  std::filesystem::remove_all(dir.File("train/class000"));
  c = ResolveRunConfig(o);
  ASSERT_OK(c);
  EXPECT_EQ(c->epochs, 40);
  EXPECT_EQ(c->batch, 64);
}

TEST(RunConfig, ErrorsSayWhatIsPossible) {
  auto fails = [](auto change, const std::vector<std::string>& parts,
                  StatusCode code = StatusCode::kInvalidArgument) {
    RunOptions o = Bc40();
    change(o);
    EXPECT_THAT(ResolveRunConfig(o), Fails(code, parts));
  };
  fails([](RunOptions& o) { o.depth = std::nullopt; }, {"--preset"});
  fails([](RunOptions& o) { o.dataset = std::nullopt; }, {"--dataset"});
  fails([](RunOptions& o) { o.depth = 41; },
        {"depth 41 with bottleneck: (depth - 4) must divide by 6; nearest 40 "
         "or 46"});
  fails([](RunOptions& o) { o.depth = -9223372036854775807LL; },
        {"--depth -9223372036854775807: expected 1 to"});
  fails([](RunOptions& o) { o.blocks = {{1, 2}}; }, {"--depth and --blocks"});
  fails([](RunOptions& o) { o.dataset = "cifar"; }, {"cifar", "mnist"});
  fails([](RunOptions& o) { o.augment = "all"; },
        {"all", "none, cifar or imagenet"});
  fails([](RunOptions& o) { o.growth = 0; }, {"--growth 0"});
  fails([](RunOptions& o) { o.depth = 3; }, {"nearest 10"});
  fails([](RunOptions& o) { o.batch = "4611686018427387904"; }, {"--batch"});
  fails([](RunOptions& o) { o.batch = "0"; }, {"--batch 0"});
  fails([](RunOptions& o) { o.epochs = -1; }, {"--epochs -1"});
  fails([](RunOptions& o) { o.optimizer = "adamant"; }, {"nesterov"});
  fails([](RunOptions& o) { o.schedule = "steps"; }, {"constant, step"});
  fails([](RunOptions& o) { o.learning_rate = -0.1; }, {"-0.1"});
  fails([](RunOptions& o) { o.dropout = 1.0; }, {"dropout 1"});
  fails([](RunOptions& o) { o.compression = 1.5; }, {"compression 1.5"});
  fails([](RunOptions& o) { o.stem = "vgg"; }, {"cifar or imagenet"});
  fails([](RunOptions& o) { o.strategy = "magic"; }, {"magic", "naive"});
  fails([](RunOptions& o) { o.device = "gpu"; }, {"gpu", "cpu"});
  fails([](RunOptions& o) { o.memory_budget = "8 apples"; }, {"8GiB"});
  fails([](RunOptions& o) { o.keep = 0; }, {"--keep 0"});
  fails([](RunOptions& o) { o.patience = -1; }, {"--patience -1"});
  fails([](RunOptions& o) { o.keep_every = -1; }, {"--keep-every -1"});
  for (const char* time : {"3", "soon", "-1h", "0s", "inf"}) {
    fails([&](RunOptions& o) { o.max_time = time; },
          {fmt::format("--max-time {}: expected", time), "1h30m"});
  }
  fails([](RunOptions& o) { o.threads = -1; }, {"--threads -1"});
  fails([](RunOptions& o) { o.threads = 1 << 20; }, {"0 to 1024"});
  fails(
      [](RunOptions& o) {
        o.depth = std::nullopt;
        o.preset = "resnet";
      },
      {"resnet", "densenet-40-12"}, StatusCode::kNotFound);
}

// config.json -> options -> configuration is the identity.
TEST(RunConfig, ConfigFileRoundTrips) {
  TempDir dir;
  std::vector<RunOptions> cases(4, Bc40());
  cases[1].preset = "densenet-121";
  cases[1].depth = std::nullopt;
  cases[1].bottleneck = std::nullopt;
  cases[2].compression = 0.7;
  cases[2].stem_channels = 20;
  cases[2].schedule = "constant";
  cases[2].seed = 18446744073709551615u;
  cases[2].learning_rate = 1.0 / 3;
  cases[2].weight_decay = 3e-5;
  cases[3].bottleneck = false;
  cases[3].augment = "cifar";
  cases[3].memory_budget = "1.5GiB";
  cases[3].strategy = "naive";
  for (const RunOptions& options : cases) {
    StatusOr<RunConfig> config = ResolveRunConfig(options);
    ASSERT_OK(config);
    const std::string file = dir.Write("c.json", ToJson(*config).dump());
    StatusOr<RunOptions> read = cli::MergeConfigFile(file, RunOptions());
    ASSERT_OK(read);
    StatusOr<RunConfig> again = ResolveRunConfig(*read);
    ASSERT_OK(again);
    EXPECT_EQ(ToJson(*again).dump(), ToJson(*config).dump());
    EXPECT_TRUE(again->model == config->model);
    EXPECT_TRUE(DifferencesFrom(ToJson(*config), ToJson(*again)).empty());
  }
}

TEST(RunConfig, CommandLineWinsOverTheFile) {
  TempDir dir;
  RunOptions o;
  o.preset = "densenet-bc-100-12";
  o.dataset = "cifar10";
  o.epochs = 7;
  const std::string file =
      dir.Write("c.json", ToJson(*ResolveRunConfig(o)).dump());
  RunOptions given;
  given.depth = 40;
  given.growth = 24;
  StatusOr<RunOptions> merged = cli::MergeConfigFile(file, given);
  ASSERT_OK(merged);
  StatusOr<RunConfig> c = ResolveRunConfig(*merged);
  ASSERT_OK(c);
  EXPECT_THAT(c->model.block_config, ElementsAre(6, 6, 6));
  EXPECT_EQ(c->model.stem_channels, 48);
  EXPECT_EQ(c->epochs, 7);
  RunOptions other;
  other.preset = "densenet-40-12";
  merged = cli::MergeConfigFile(file, other);
  ASSERT_OK(merged);
  EXPECT_EQ(ResolveRunConfig(*merged)->preset, "densenet-40-12");
}

TEST(RunConfig, BadConfigFileIsNamed) {
  TempDir dir;
  auto fails = [&](const std::string& text,
                   const std::vector<std::string>& parts) {
    EXPECT_THAT(cli::MergeConfigFile(dir.Write("c.json", text), RunOptions()),
                Fails(StatusCode::kInvalidArgument, parts));
  };
  fails("{\"depht\": 40}", {"c.json", "depht"});
  fails("{\"depth\": \"forty\"}", {"c.json", "forty"});
  fails("{\"depth\": {}}", {"c.json", "depth"});
  fails("[1]", {"c.json", "JSON object"});
  fails("{\"depth\": ", {"c.json", "no valid JSON at byte 11"});
  EXPECT_THAT(cli::MergeConfigFile(dir.File("none.json"), RunOptions()),
              Fails(StatusCode::kNotFound, {"none.json"}));
}

TEST(RunConfig, DifferencesAreNamedFieldByField) {
  RunOptions o = Bc40();
  const Json then = ToJson(*ResolveRunConfig(o));
  o.growth = 24;
  o.learning_rate = 0.05;
  o.epochs = 5;
  o.threads = 2;
  o.strategy = "naive";
  o.data = "elsewhere";
  EXPECT_THAT(DifferencesFrom(then, ToJson(*ResolveRunConfig(o))),
              ElementsAre("growth: 12 in the run folder, 24 now",
                          "lr: 0.1 in the run folder, 0.05 now"));
  o = Bc40();
  o.stem_channels = 16;
  EXPECT_THAT(
      DifferencesFrom(then, ToJson(*ResolveRunConfig(o))),
      ElementsAre("stem-channels: the default in the run folder, 16 now"));
}

// A run goes on, and is evaluated, from whatever folder.
TEST(RunConfig, TheFolderOfTheDataIsStoredAbsolute) {
  RunOptions o = Bc40();
  EXPECT_EQ(ResolveRunConfig(o)->data, "");
  const std::filesystem::path here = std::filesystem::current_path();
  o.data = "some/../data";
  EXPECT_EQ(ResolveRunConfig(o)->data, (here / "data").string());
  EXPECT_EQ(ToJson(*ResolveRunConfig(o))["data"], (here / "data").string());
  o.data = "/data/cifar";
  EXPECT_EQ(ResolveRunConfig(o)->data, "/data/cifar");
}

TEST(RunConfig, ModelConfigRoundTrips) {
  RunOptions o = Bc40();
  o.dropout = 0.1;
  const ModelConfig model = ResolveRunConfig(o)->model;
  Json json = ToJson(model);
  StatusOr<ModelConfig> read = ModelConfigFromJson(json);
  ASSERT_OK(read);
  EXPECT_TRUE(*read == model);
  json["squeeze"] = true;
  EXPECT_THAT(ModelConfigFromJson(json),
              Fails(StatusCode::kInvalidArgument, {"unknown key 'squeeze'"}));
  json.erase("squeeze");
  json.erase("classes");
  EXPECT_THAT(ModelConfigFromJson(json),
              Fails(StatusCode::kInvalidArgument, {"classes"}));
}

TEST(ByteSize, ReadsWhatPeopleWrite) {
  EXPECT_EQ(*ParseByteSize("8GiB"), int64_t{8} << 30);
  EXPECT_EQ(*ParseByteSize("1.5 mib"), 3 << 19);
  EXPECT_EQ(*ParseByteSize("2GB"), 2'000'000'000);
  EXPECT_EQ(*ParseByteSize("4096"), 4096);
  for (const char* bad : {"", "GiB", "-1", "1e30", "8 GiBs", "nan", "inf"}) {
    EXPECT_THAT(ParseByteSize(bad),
                Fails(StatusCode::kInvalidArgument, {"expected"}))
        << bad;
  }
  EXPECT_EQ(FormatByteSize(812), "812 B");
  EXPECT_EQ(FormatByteSize(3 << 19), "1.5 MiB");
}

}  // namespace
}  // namespace densenet
