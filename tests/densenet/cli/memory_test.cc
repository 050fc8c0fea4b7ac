#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/io/file.h"
#include "tests/densenet/cli/app_fixture.h"

namespace densenet::cli {
namespace {

using ::testing::HasSubstr;

class MemoryCommandTest : public AppTest {
 protected:
  // The smallest networks, in `memory` form.
  static std::vector<std::string> Memory(const std::vector<std::string>& more) {
    return With({"memory", "--growth", "4", "--bottleneck", "--batch", "4",
                 "--threads", "1"},
                more);
  }
  // Whether the plan is within the 8 MB that the searches are given.
  void ExpectFits(const std::string& strategy, int64_t depth, int64_t batch,
                  bool fits) {
    constexpr int64_t kBudget = 8'000'000;
    ASSERT_EQ(Run(Memory({"--depth", std::to_string(depth), "--batch",
                          std::to_string(batch), "--strategy", strategy,
                          "--plan-only", "--json", dir_.File("fits.json")})),
              0)
        << err_.str();
    const int64_t planned = ReadJson("fits.json")["rows"][0]["planned_bytes"];
    EXPECT_EQ(planned <= kBudget, fits)
        << strategy << " " << depth << " " << batch;
  }
};

TEST_F(MemoryCommandTest, PlansAndMeasuresEveryStrategy) {
  ASSERT_EQ(Run(Memory({"--depth", "10", "--json", dir_.File("m.json"), "--csv",
                        dir_.File("m.csv")})),
            0)
      << err_.str();
  const Json rows = ReadJson("m.json")["rows"];
  ASSERT_EQ(rows.size(), AllStrategies().size());
  for (const Json& row : rows) {
    EXPECT_EQ(row["depth"], 10);
    EXPECT_EQ(row["growth"], 4);
    EXPECT_EQ(row["batch"], 4);
    EXPECT_EQ(row["planned_bytes"], row["measured_bytes"]) << row;
    EXPECT_GT(row["resident_bytes"], 0);
    EXPECT_LT(row["activation_bytes"], row["planned_bytes"]);
    EXPECT_THAT(out_.str(), HasSubstr(row["strategy"].get<std::string>()));
  }
  const StatusOr<std::string> csv = ReadFile(dir_.File("m.csv"));
  ASSERT_OK(csv);
  EXPECT_EQ(std::count(csv->begin(), csv->end(), '\n'),
            static_cast<int64_t>(rows.size()) + 1);
  EXPECT_THAT(*csv, HasSubstr("strategy,depth,growth,batch,planned_bytes"));
}

TEST_F(MemoryCommandTest, PlanOnlyMeasuresNothing) {
  ASSERT_EQ(
      Run({"memory", "--preset", "densenet-264", "--batch", "256", "--strategy",
           "features-only", "--plan-only", "--json", dir_.File("m.json")}),
      0)
      << err_.str();
  const Json row = ReadJson("m.json")["rows"][0];
  // The paper's name counts one layer less than its own rule does.
  EXPECT_EQ(row["depth"], 265);
  EXPECT_TRUE(row["measured_bytes"].is_null());
  EXPECT_TRUE(row["resident_bytes"].is_null());
}

TEST_F(MemoryCommandTest, BuffersListsThePlan) {
  ASSERT_EQ(Run(Memory({"--depth", "10", "--strategy", "fused", "--plan-only",
                        "--buffers", "--json", dir_.File("m.json")})),
            0)
      << err_.str();
  const int64_t arena = ReadJson("m.json")["rows"][0]["activation_bytes"];
  EXPECT_THAT(out_.str(), HasSubstr("bytes       offset kind"));
  EXPECT_THAT(out_.str(), HasSubstr("denseblock1"));
  EXPECT_THAT(out_.str(), HasSubstr(fmt::format("{} bytes of arena", arena)));
}

TEST_F(MemoryCommandTest, MaxBatchFitsAndOneMoreDoesNot) {
  ASSERT_EQ(Run({"memory", "--depth", "10", "--growth", "4", "--bottleneck",
                 "--threads", "1", "--max-batch", "--memory-budget", "8MB",
                 "--json", dir_.File("b.json")}),
            0)
      << err_.str();
  const Json rows = ReadJson("b.json")["rows"];
  ASSERT_EQ(rows.size(), AllStrategies().size());
  for (const Json& row : rows) {
    EXPECT_EQ(row["depth"], 10);
    const int64_t batch = row["max_batch"];
    ASSERT_GT(batch, 0) << row;
    ExpectFits(row["strategy"], 10, batch, true);
    ExpectFits(row["strategy"], 10, batch + 1, false);
  }
  ASSERT_EQ(
      Run({"memory", "--depth", "10", "--max-batch", "--memory-budget", "8kB"}),
      0);
  EXPECT_THAT(out_.str(), HasSubstr("none: one image is"));
}

TEST_F(MemoryCommandTest, MaxDepthFitsAndTheNextDoesNot) {
  ASSERT_EQ(Run(Memory({"--max-depth", "--memory-budget", "8MB", "--json",
                        dir_.File("d.json")})),
            0)
      << err_.str();
  const Json rows = ReadJson("d.json")["rows"];
  EXPECT_GT(rows.back()["max_depth"], rows.front()["max_depth"]);
  for (const Json& row : rows) {
    const int64_t depth = row["max_depth"];
    constexpr int64_t kNext = 6;  // a layer more in each of three blocks
    ExpectFits(row["strategy"], depth, 4, true);
    ExpectFits(row["strategy"], depth + kNext, 4, false);
  }
  ASSERT_EQ(Run(Memory({"--max-depth", "--memory-budget", "8kB"})), 0);
  EXPECT_THAT(out_.str(), HasSubstr("none: depth 10 is"));
}

TEST_F(MemoryCommandTest, PlotsPeakAgainstDepth) {
  if (std::system("command -v gnuplot >/dev/null") != 0) {
    GTEST_SKIP() << "gnuplot is not installed (Debian package gnuplot-nox)";
  }
  ASSERT_EQ(Run(Memory({"--depths", "10,16", "--plan-only", "--plot",
                        dir_.File("p.svg") + "," + dir_.File("p.png")})),
            0)
      << err_.str();
  EXPECT_THAT(*ReadFile(dir_.File("p.svg")), HasSubstr("features-only"));
  EXPECT_GT(std::filesystem::file_size(dir_.File("p.png")), 1000u);
}

TEST_F(MemoryCommandTest, ContradictionsAreUsageErrors) {
  const auto fails = [&](const std::vector<std::string>& more,
                         const std::vector<std::string>& parts) {
    ExpectFails(Memory(more), 2, parts);
  };
  fails({"--depths", "10,16", "--depth", "10"}, {"--depths", "--depth"});
  fails({"--max-depth", "--depth", "10"}, {"--max-depth", "leave --depth"});
  fails({"--max-depth", "--max-batch"}, {"one at a time"});
  fails({"--max-batch", "--depths", "10,16"}, {"--max-batch"});
  fails({"--max-batch", "--depth", "10"}, {"--max-batch", "leave --batch out"});
  fails({"--max-depth", "--csv", dir_.File("x.csv")}, {"--csv"});
  fails({"--depth", "10", "--memory-budget", "1GB"}, {"--memory-budget"});
  fails({"--depth", "10", "--plot", dir_.File("x.svg")},
        {"--plot", "two or more --depths"});
  fails({"--depths", "10,16", "--plot", dir_.File("x.pdf")}, {"x.pdf", ".svg"});
  fails({"--depth", "11"}, {"nearest 10 or 16"});
  fails({"--depth", "10", "--strategy", "lazy"}, {"'lazy'", "fused"});
  fails({"--depth", "10", "--batch", "0"}, {"--batch 0"});
  fails({"--depth", "10", "--threads", "-1"}, {"--threads -1"});
  fails({}, {"which network"});
  ExpectFails(Memory({"--depth", "10", "--csv", dir_.File("no/x.csv")}), 1,
              {"no/x.csv"});
  EXPECT_TRUE(dir_.Names().empty());
}

}  // namespace
}  // namespace densenet::cli
