#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/densenet/cli/app_fixture.h"

namespace densenet::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class ReproduceCommandTest : public AppTest {
 protected:
  // One epoch of ten random images.
  std::vector<std::string> Reproduce(const std::vector<std::string>& more) {
    densenet::testing::WriteCifar10(data_, /*per_batch=*/2, /*test=*/4);
    return With({"reproduce", "densenet-40-12", "--dataset", "cifar10",
                 "--epochs-scale", "0.001", "--data", data_.path(), "--threads",
                 "1", "--out", dir_.File("runs")},
                more);
  }
};

TEST_F(ReproduceCommandTest, PrintsPublishedBesideReproduced) {
  ASSERT_EQ(Run(Reproduce({"--json", dir_.File("r.json")})), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("SHORTENED, 1 of the paper's 300 epochs"));
  const Json row = ReadJson("r.json")["rows"][0];
  EXPECT_EQ(row["published"], 7.00);
  EXPECT_EQ(row["epochs"], 1);
  EXPECT_TRUE(
      fs::exists(dir_.File("runs/densenet-40-12-cifar10-x0.001-seed1")));
}

TEST_F(ReproduceCommandTest, StopsCleanly) {
  should_stop_ = [] { return true; };
  ASSERT_EQ(Run(Reproduce({})), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("The same command goes on"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("published")));
}

TEST_F(ReproduceCommandTest, EstimatesWithoutTraining) {
  ASSERT_EQ(
      Run({"reproduce", "densenet-40-12", "--dataset", "cifar10+", "--estimate",
           "--steps", "1", "--threads", "1", "--json", dir_.File("e.json")}),
      0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("densenet-40-12       cifar10+     300"));
  EXPECT_THAT(out_.str(), HasSubstr("median of 1 timed"));
  const Json rows = ReadJson("e.json")["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_GT(rows[0]["hours"], 0);
  // All rows of a preset; where nothing has room, nothing is measured.
  ASSERT_EQ(Run({"reproduce", "densenet-bc-190-40", "--estimate",
                 "--memory-budget", "1MB", "--json", dir_.File("e.json")}),
            0)
      << err_.str();
  EXPECT_EQ(ReadJson("e.json")["rows"].size(), 2u);
  EXPECT_TRUE(ReadJson("e.json")["rows"][0]["hours"].is_null());
  EXPECT_THAT(out_.str(), HasSubstr("no room"));
}

TEST_F(ReproduceCommandTest, UsageErrorsAreNamed) {
  ExpectFails({"reproduce"}, 2, {"which row", "--estimate"});
  ExpectFails({"reproduce", "densenet-9", "--dataset", "cifar10"}, 2,
              {"densenet-9"});
  ExpectFails({"reproduce", "densenet-40-12", "--dataset", "mnist"}, 2,
              {"'mnist'", "cifar100+", "svhn"});
  ExpectFails({"reproduce", "--estimate", "--dataset", "mnist"}, 2,
              {"'mnist'"});
  ExpectFails({"reproduce", "--estimate", "--steps", "0"}, 2, {"--steps 0"});
  ExpectFails(Reproduce({"--epochs-scale", "2"}), 2, {"--epochs-scale 2"});
  // What the paper says is no option.
  for (const char* option : {"--lr", "--epochs", "--augment", "--growth",
                             "--patience", "--schedule", "--validation"}) {
    ExpectFails(Reproduce({option, "1"}), 2, {option});
  }
  std::vector<std::string> args = Reproduce({});
  args[7] = dir_.File("gone");
  ExpectFails(args, 1, {"gone"});
}

}  // namespace
}  // namespace densenet::cli
