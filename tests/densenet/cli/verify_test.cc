#include "densenet/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/densenet/cli/app_fixture.h"

namespace densenet::cli {
namespace {

using ::testing::HasSubstr;

class VerifyCommandTest : public AppTest {
 protected:
  static std::vector<std::string> Verify(const std::vector<std::string>& more) {
    return With({"verify", "--depth", "10", "--growth", "4", "--bottleneck",
                 "--batch", "4", "--threads", "1"},
                more);
  }
  void ExpectAllPassed(const std::string& file) {
    const Json rows = ReadJson(file)["rows"];
    // With and without dropout, and the noise floor.
    ASSERT_EQ(rows.size(), 2 * AllStrategies().size() + 1) << rows;
    for (const Json& row : rows) {
      EXPECT_TRUE(row["passed"]) << row;
      if (row["strategy"] == "noise floor") continue;
      EXPECT_EQ(row["loss_error"], 0) << row;
      EXPECT_EQ(row["statistics_error"], 0) << row;
      EXPECT_LE(row["gradient_error"], kVerifyGradientBound) << row;
    }
  }
};

TEST_F(VerifyCommandTest, HoldsOnRandomImages) {
  ASSERT_EQ(Run(Verify({"--json", dir_.File("v.json")})), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("noise floor"));
  ExpectAllPassed("v.json");
}

TEST_F(VerifyCommandTest, HoldsOnTheUsersOwnImages) {
  densenet::testing::WriteCifar10(data_, 5, 10);
  ASSERT_EQ(Run(Verify({"--dataset", "cifar10", "--data", data_.path(),
                        "--augment", "cifar", "--json", dir_.File("v.json")})),
            0)
      << err_.str();
  ExpectAllPassed("v.json");
}

TEST_F(VerifyCommandTest, ContradictionsAreUsageErrors) {
  ExpectFails(Verify({"--dataset", "cifar10", "--image-size", "40"}), 2,
              {"--image-size", "--dataset"});
  ExpectFails(Verify({"--data", data_.path()}), 2, {"--dataset"});
  ExpectFails(Verify({"--batch", "0"}), 2, {"--batch 0"});
  ExpectFails(Verify({"--dataset", "cifar10", "--data", data_.path()}), 1,
              {"cifar10", data_.path()});
}

}  // namespace
}  // namespace densenet::cli
