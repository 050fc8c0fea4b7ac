#include "densenet/cli/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "densenet/presets.h"
#include "tests/densenet/cli/app_fixture.h"
#include "tests/support/image_files.h"

namespace densenet::cli {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST_F(AppTest, HelpAndVersionAreNoErrors) {
  EXPECT_EQ(Run({"--help"}), 0);
  for (const char* command :
       {"train", "eval", "predict", "presets", "devices", "memory", "bench",
        "verify", "compare", "reproduce"}) {
    EXPECT_THAT(out_.str(), HasSubstr(command));
  }
  for (const char* command :
       {"train", "eval", "predict", "presets", "devices", "memory", "bench",
        "verify", "compare", "reproduce"}) {
    EXPECT_EQ(Run({command, "--help"}), 0);
    EXPECT_THAT(out_.str(), HasSubstr("--json")) << command;
    EXPECT_EQ(err_.str(), "");
  }
  EXPECT_EQ(Run({"--version"}), 0);
  EXPECT_THAT(out_.str(), ::testing::StartsWith("densenet "));
}

TEST_F(AppTest, UsageErrorsExitWithTwo) {
  ExpectFails({}, 2, {"densenet --help"});
  ExpectFails({"trian"}, 2, {"trian"});
  ExpectFails({"train", "--bogus"}, 2, {"--bogus", "train --help"});
  ExpectFails({"train", "--depth", "x"}, 2, {"--depth", "x"});
  ExpectFails({"train", "--dataset", "cifar10"}, 2, {"--preset", "--depth"});
  ExpectFails(
      {"train", "--depth", "41", "--bottleneck", "--dataset", "cifar10"}, 2,
      {"depth 41 with bottleneck: (depth - 4) must divide by 6; "
       "nearest 40 or 46"});
  ExpectFails({"train", "--depth", "40", "--dataset", "imagenette"}, 2,
              {"imagenette", "fashion-mnist"});
  ExpectFails({"train", "--preset", "densenet", "--dataset", "mnist"}, 2,
              {"unknown preset 'densenet'", "densenet-121"});
  ExpectFails(
      {"train", "--depth", "40", "--dataset", "mnist", "--device", "tpu"}, 2,
      {"tpu", "cpu"});
  ExpectFails({"train", "--depth", "40", "--dataset", "mnist", "--config",
               dir_.File("no.json")},
              2, {"no.json"});
  ExpectFails({"train", "--depth", "40", "--depth", "46"}, 2,
              {"--depth is given more than once"});
  ExpectFails({"train", "--depth", "40", "--dataset", "mnist", "--seed", "-1"},
              2, {"--seed", "-1"});
  ExpectFails(
      {"train", "--depth", "40", "--dataset", "mnist", "--threads", "-1"}, 2,
      {"--threads -1: expected 0 to 1024"});
  ExpectFails(
      {"train", "--depth", "40", "--dataset", "mnist", "--memory-budget", "0"},
      2, {"--memory-budget 0"});
  ExpectFails({"train", "--depth", "40", "--dataset", "mnist", "--lr", "0"}, 2,
              {"--lr 0", "above 0"});
  ExpectFails(
      {"train", "--depth", "40", "--dataset", "mnist", "--strategy", "lazy"}, 2,
      {"'lazy'", "features-only, or auto"});
  ExpectFails({"eval"}, 2, {"--checkpoint", "required"});
  ExpectFails({"eval", "--checkpoint", "x", "--split", "dev"}, 2, {"--split"});
  ExpectFails({"eval", "--checkpoint", "x", "--dataset", "y"}, 2, {"'y'"});
  ExpectFails({"predict", "--checkpoint", "x"}, 2, {"images"});
}

TEST_F(AppTest, FailuresExitWithOneAndLeaveNothing) {
  std::vector<std::string> args = Train();
  args[9] = dir_.File("gone");  // --data
  ExpectFails(args, 1, {"gone", "cifar"});
  EXPECT_FALSE(fs::exists(dir_.File("run")));
  ExpectFails(Train({"--device", "cuda:0"}), 1,
              {"cuda:0", "does not run on CUDA yet", "--device cpu"});
  ExpectFails(Train({"--memory-budget", "1MB"}), 1, {"memory", "1000000"});
  EXPECT_FALSE(fs::exists(dir_.File("run")));
  ExpectFails(Train({"--json", dir_.File("no/folder.json")}), 1,
              {"no/folder.json"});
  args = Train();
  args.back() = "/dev/null/run";
  ExpectFails(args, 1, {"/dev/null/run"});
  ExpectFails({"eval", "--checkpoint", dir_.File("none")}, 1, {"none"});
  ExpectFails({"eval", "--checkpoint", dir_.path()}, 1,
              {"holds no checkpoint"});
  ExpectFails({"presets", "--json", dir_.path()}, 1, {dir_.path()});
}

TEST_F(AppTest, PresetsListsEveryPublishedError) {
  ASSERT_EQ(Run({"presets", "--json", dir_.File("p.json")}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("densenet-bc-100-12        769,162"));
  const Json rows = ReadJson("p.json")["rows"];
  size_t results = 0;
  for (const Preset& preset : Presets()) results += preset.results.size();
  ASSERT_EQ(rows.size(), results);
  EXPECT_THAT(Keys(rows[0]),
              ::testing::ElementsAre("name", "dataset", "augmented", "params",
                                     "error"));
  bool found = false;
  for (const Json& row : rows) {
    if (row["name"] != "densenet-bc-190-40") continue;
    EXPECT_EQ(row["augmented"], true);
    if (row["dataset"] != "cifar100") continue;
    found = true;
    EXPECT_EQ(row["params"], 25'821'620);
    EXPECT_EQ(row["error"], 17.18);
  }
  EXPECT_TRUE(found);
}

TEST_F(AppTest, DevicesListsTheCpu) {
  ASSERT_EQ(Run({"devices", "--json", dir_.File("d.json")}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("cores usable"));
  EXPECT_THAT(out_.str(), HasSubstr("cuda"));
  const Json rows = ReadJson("d.json")["rows"];
  EXPECT_EQ(rows[0]["device"], "cpu");
  EXPECT_GE(rows[0]["cores"], 1);
  EXPECT_GT(rows[0]["total_bytes"], 0);
}

TEST_F(AppTest, TrainsEvaluatesAndPredicts) {
  ASSERT_EQ(Run(Train({"--json", dir_.File("t.json")})), 0) << err_.str();
  const Json trained = ReadJson("t.json");
  EXPECT_THAT(Keys(trained),
              ::testing::ElementsAre("steps", "epochs", "error_percent",
                                     "top5_error_percent", "best_error_percent",
                                     "best_step", "best_on",
                                     "images_per_second", "planned_peak_bytes",
                                     "measured_peak_bytes", "checkpoint"));
  EXPECT_EQ(trained["best_on"], "test");
  EXPECT_EQ(trained["steps"], 4);
  EXPECT_EQ(trained["planned_peak_bytes"], trained["measured_peak_bytes"]);
  EXPECT_THAT(out_.str(), HasSubstr("done    test error"));

  ASSERT_EQ(Run({"eval", "--checkpoint", trained["checkpoint"], "--json",
                 dir_.File("e.json")}),
            0)
      << err_.str();
  const Json evaluated = ReadJson("e.json");
  EXPECT_THAT(Keys(evaluated),
              ::testing::ElementsAre("error_percent", "loss", "examples",
                                     "top5_error_percent"));
  EXPECT_EQ(evaluated["error_percent"], trained["error_percent"]);
  EXPECT_EQ(evaluated["examples"], 10);
  ASSERT_EQ(Run({"eval", "--checkpoint", dir_.File("run"), "--best",
                 "--dataset", "cifar10", "--data", data_.path(), "--batch", "3",
                 "--json", dir_.File("b.json")}),
            0)
      << err_.str();
  EXPECT_EQ(ReadJson("b.json"), evaluated);
  ExpectFails({"eval", "--checkpoint", dir_.File("run"), "--dataset", "mnist"},
              1, {"mnist has 28 x 28 x 1", "32 x 32 x 3"});
  ExpectFails(
      {"eval", "--checkpoint", dir_.File("run"), "--split", "validation"}, 2,
      {"held out no images"});

  const std::string image = dir_.Write(
      "a.png",
      testing::EncodePng(std::vector<uint8_t>(3 * 40 * 50, 99), 40, 50, {}));
  const std::string bad = dir_.Write("bad.png", "no image");
  ASSERT_EQ(Run({"predict", "--checkpoint", dir_.File("run"), image, image}), 0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(image + "\n"));
  EXPECT_THAT(out_.str(), HasSubstr("%  "));
  ExpectFails({"predict", "--checkpoint", dir_.File("run"), bad, image,
               "--json", dir_.File("r.json")},
              1, {"bad.png"});
  const Json rows = ReadJson("r.json")["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].contains("error"));
  EXPECT_EQ(rows[1]["classes"].size(), 5u);
}

TEST_F(AppTest, AutomaticChoicesAreExplainedAndStay) {
  ASSERT_EQ(Run(Train({"--batch", "auto", "--memory-budget", "3MB", "--epochs",
                       "2"})),
            0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("strategy features-only"));
  const Json config = ReadJson("run/config.json");
  const int64_t batch = config["batch"];
  EXPECT_GT(batch, 1);
  EXPECT_LT(batch, 25);
  EXPECT_THAT(out_.str(),
              HasSubstr(fmt::format("auto    batch {}: the largest that "
                                    "features-only fits into --memory-budget",
                                    batch)));
  EXPECT_EQ(config["strategy"], "features-only");
  // One image more is over the budget.
  ExpectFails(Train({"--batch", std::to_string(batch + 1), "--strategy",
                     "features-only", "--memory-budget", "3MB", "--out",
                     dir_.File("other")}),
              1, {"--memory-budget", fmt::format("--batch {}", batch)});
  // Continued with "auto" and room for more, it stays what it was.
  ASSERT_EQ(Run(Train({"--batch", "auto", "--memory-budget", "1GB", "--epochs",
                       "3"})),
            0)
      << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr(fmt::format("auto    batch {}: as when this run began",
                                    batch)));
  EXPECT_EQ(ReadJson("run/config.json")["batch"], batch);
  EXPECT_EQ(ReadJson("run/config.json")["strategy"], "features-only");
  ExpectFails(Train({"--batch", "auto", "--memory-budget", "500kB", "--out",
                     dir_.File("small")}),
              1, {"--batch auto", "not even one image"});
  ExpectFails(Train({"--batch", "many"}), 2, {"--batch many", "auto"});
}

TEST_F(AppTest, ARunThatLostItsCheckpointsIsNotBegunAnew) {
  ASSERT_EQ(Run(Train()), 0) << err_.str();
  const auto remove_checkpoints = [](const std::string& folder) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".safetensors") fs::remove(entry.path());
    }
  };
  remove_checkpoints(dir_.File("run"));
  ExpectFails(Train(), 1, {"lost its checkpoints", "1 epochs", "best/"});
  EXPECT_FALSE(fs::is_empty(dir_.File("run/best")));
  // Killed before its first checkpoint, a run has a row and no best.
  remove_checkpoints(dir_.File("run/best"));
  EXPECT_EQ(Run(Train()), 0) << err_.str();
  ExpectFails({"train", "--out", dir_.File("nowhere")}, 2,
              {"nowhere", "no run to go on with"});
  EXPECT_FALSE(fs::exists(dir_.File("nowhere")));
}

TEST_F(AppTest, AutomaticStrategySaysWhy) {
  ASSERT_EQ(Run(Train()), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("auto    strategy fused: the plan of "
                                    "fused"));
  EXPECT_THAT(out_.str(), HasSubstr("free"));
}

TEST_F(AppTest, StopsCleanlyAndGoesOnByItsFolderAlone) {
  int calls = 0;
  should_stop_ = [&] { return ++calls == 2; };
  ASSERT_EQ(Run(Train({"--json", dir_.File("t.json")})), 0);
  EXPECT_THAT(out_.str(), HasSubstr("stopped after 2 steps"));
  EXPECT_THAT(out_.str(),
              HasSubstr("densenet train --out " + dir_.File("run")));
  EXPECT_TRUE(ReadJson("t.json")["error_percent"].is_null());
  ASSERT_EQ(Run({"train", "--out", dir_.File("run")}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("resuming at step 2"));
  EXPECT_THAT(out_.str(), HasSubstr("done    test error"));
  ExpectFails(Train({"--seed", "5"}), 1,
              {"holds another run", "seed: 1 in the run folder, 5 now"});
  // The folder says the rest.
  ExpectFails({"train", "--out", dir_.File("run"), "--growth", "5"}, 1,
              {"holds another run", "growth: 4 in the run folder, 5 now"});
  ExpectFails({"train", "--out", dir_.File("run"), "--depth", "16"}, 1,
              {"holds another run", "blocks: [1,1,1] in the run folder"});
}

TEST_F(AppTest, ConfigOfARunStartsAnother) {
  ASSERT_EQ(Run(Train()), 0) << err_.str();
  ASSERT_EQ(Run({"train", "--config", dir_.File("run/config.json"), "--seed",
                 "2", "--device", "auto", "--out", dir_.File("second")}),
            0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("using cpu"));
  // A path is bytes, not always UTF-8.
  ASSERT_EQ(Run({"train", "--config", dir_.File("run/config.json"), "--out",
                 dir_.File("\xff"), "--json", dir_.File("u.json")}),
            0)
      << err_.str();
  Json first = ReadJson("run/config.json");
  const Json second = ReadJson("second/config.json");
  first["seed"] = 2;
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace densenet::cli
