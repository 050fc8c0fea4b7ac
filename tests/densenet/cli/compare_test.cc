#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/io/file.h"
#include "tests/densenet/cli/app_fixture.h"

namespace densenet::cli {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class CompareCommandTest : public AppTest {
 protected:
  // The smallest net, 25 images, 2 epochs, 2 seeds.
  std::vector<std::string> Compare(const std::vector<std::string>& more = {}) {
    densenet::testing::WriteCifar10(data_, /*per_batch=*/5, /*test=*/10);
    return With({"compare",
                 "--optimizers",
                 "sgd,nesterov",
                 "--lrs",
                 "0.1",
                 "--seeds",
                 "2",
                 "--depth",
                 "10",
                 "--growth",
                 "4",
                 "--bottleneck",
                 "--dataset",
                 "cifar10",
                 "--data",
                 data_.path(),
                 "--batch",
                 "8",
                 "--epochs",
                 "2",
                 "--threads",
                 "1",
                 "--out",
                 dir_.File("compared")},
                more);
  }
};

TEST_F(CompareCommandTest, WritesItsReportEverywhere) {
  ASSERT_EQ(Run(Compare({"--json", dir_.File("c.json"), "--csv",
                         dir_.File("c.csv"), "--plot", dir_.File("c.png")})),
            0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("\nsgd and nesterov: "));
  for (const char* name : {"comparison.txt", "comparison.json",
                           "comparison.csv", "comparison.svg"}) {
    EXPECT_TRUE(fs::exists(dir_.File("compared/" + std::string(name)))) << name;
  }
  EXPECT_EQ(ReadJson("c.json"), ReadJson("compared/comparison.json"));
  EXPECT_EQ(*ReadFile(dir_.File("c.csv")),
            *ReadFile(dir_.File("compared/comparison.csv")));
  EXPECT_THAT(*ReadFile(dir_.File("c.png")), HasSubstr("PNG"));
  const Json json = ReadJson("c.json");
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["pairs"].size(), 1u);
  // A run folder like any other.
  EXPECT_EQ(Run({"eval", "--checkpoint", json["rows"][0]["runs"][0]["folder"]}),
            0)
      << err_.str();
}

TEST_F(CompareCommandTest, StopsCleanlyAndGoesOn) {
  int calls = 0;
  should_stop_ = [&] { return ++calls == 9; };
  ASSERT_EQ(Run(Compare()), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("The same command goes on"));
  EXPECT_FALSE(fs::exists(dir_.File("compared/comparison.json")));
  should_stop_ = nullptr;
  ASSERT_EQ(Run(Compare()), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("resuming at step"));
  EXPECT_TRUE(fs::exists(dir_.File("compared/comparison.json")));
  ExpectFails(Compare({"--batch", "5"}), 1,
              {"sgd-lr0.1-seed1", "batch: 8 in the run folder, 5 now"});
}

TEST_F(CompareCommandTest, SeveralRatesAreChosenFrom) {
  ASSERT_EQ(Run(Compare({"--lrs", "0.1,0.01", "--grid-epochs", "1",
                         "--validation", "4", "--seeds", "1"})),
            0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("4 training images held out"));
  const Json json = ReadJson("compared/comparison.json");
  EXPECT_EQ(json["grid"].size(), 4u);
  EXPECT_EQ(json["grid_recipe"]["epochs"], 1);
  EXPECT_EQ(json["recipe"]["epochs"], 2);
  EXPECT_EQ(json["recipe"]["validation"], 0);
  for (const Json& point : json["grid"]) {
    if (point["optimizer"] != "sgd" || !point["chosen"]) continue;
    EXPECT_EQ(json["rows"][0]["lr"], point["lr"]);
  }
}

TEST_F(CompareCommandTest, TheRecipeMayBeThatOfARun) {
  ASSERT_EQ(Run(Train()), 0) << err_.str();
  ASSERT_EQ(Run({"compare", "--optimizers", "sgd", "--lrs", "0.01", "--seeds",
                 "1", "--config", dir_.File("run/config.json"), "--out",
                 dir_.File("compared")}),
            0)
      << err_.str();
  EXPECT_EQ(ReadJson("compared/runs/sgd-lr0.01-seed1/config.json")["growth"],
            4);
}

TEST_F(CompareCommandTest, UsageErrorsAreNamed) {
  ExpectFails({"compare"}, 2, {"--optimizers", "required"});
  ExpectFails(Compare({"--optimizers", "sgd,lion"}), 2, {"lion", "nesterov"});
  ExpectFails(Compare({"--lr", "0.1"}), 2, {"--lr"});
  ExpectFails(Compare({"--optimizer", "sgd"}), 2, {"--optimizer"});
  ExpectFails(Compare({"--lrs", "x"}), 2, {"--lrs", "'x'", "auto"});
  ExpectFails(Compare({"--validation", "4"}), 2, {"--validation", "one rate"});
  ExpectFails(Compare({"--plot", "curve.pdf"}), 1, {"curve.pdf", ".svg"});
  ExpectFails(Compare({"--device", "cuda:0"}), 1, {"cuda:0"});
  EXPECT_FALSE(fs::exists(dir_.File("compared")));
}

}  // namespace
}  // namespace densenet::cli
