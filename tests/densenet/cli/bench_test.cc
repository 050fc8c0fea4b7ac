#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/densenet/cli/app_fixture.h"

namespace densenet::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BenchCommandTest : public AppTest {
 protected:
  static std::vector<std::string> Bench(const std::vector<std::string>& more) {
    return With(
        {"bench", "--depth", "10", "--growth", "4", "--steps", "1", "--warm-up",
         "0", "--batch", "2", "--threads", "1", "--bottleneck"},
        more);
  }
};

TEST_F(BenchCommandTest, OneStrategyIsAnObject) {
  ASSERT_EQ(Run(Bench({"--strategy", "fused", "--profile", "--json",
                       dir_.File("b.json")})),
            0)
      << err_.str();
  const Json json = ReadJson("b.json");
  EXPECT_THAT(Keys(json),
              ElementsAre("strategy", "images_per_second", "step_seconds",
                          "useful_gflops", "gemm_gflops", "share_of_gemm",
                          "planned_bytes"));
  EXPECT_EQ(json["strategy"], "fused");
  EXPECT_GT(json["images_per_second"], 0);
  EXPECT_THAT(out_.str(), HasSubstr("fused: where a step of"));
}

TEST_F(BenchCommandTest, SeveralStrategiesAreATable) {
  ASSERT_EQ(Run(Bench({"--json", dir_.File("b.json")})), 0) << err_.str();
  EXPECT_EQ(ReadJson("b.json")["rows"].size(), AllStrategies().size());
}

TEST_F(BenchCommandTest, BadValuesAreUsageErrors) {
  ExpectFails(Bench({"--steps", "0"}), 2, {"--steps 0"});
  ExpectFails(Bench({"--threads", "-1"}), 2, {"--threads -1: expected 0"});
  ExpectFails(Bench({"--batch", "1000000"}), 1, {"free", "smaller --batch"});
  ExpectFails(Bench({"--strategy", "lazy"}), 2, {"'lazy'"});
  ExpectFails(Bench({"--json", dir_.File("no/b.json")}), 1, {"no/b.json"});
}

}  // namespace
}  // namespace densenet::cli
