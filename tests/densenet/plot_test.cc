#include "densenet/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/io/file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Plot SmallPlot() {
  Plot plot;
  plot.title = "It's memory";
  plot.x_label = "depth";
  plot.y_label = "peak";
  plot.series = {{"naive", {1, 2, 3}, {1, 4, 9}}, {"fused", {1, 2}, {1, 2}}};
  return plot;
}

TEST(PlotTest, TheScriptHoldsTitlesAndPoints) {
  const std::string script = GnuplotScript(SmallPlot(), "svg", "a.svg");
  EXPECT_THAT(script, HasSubstr("'It''s memory'"));
  EXPECT_THAT(script, HasSubstr("3 9\n"));
  EXPECT_THAT(script, HasSubstr("title 'fused'"));
}

TEST(PlotTest, ABandLiesBelowTheLines) {
  Plot plot = SmallPlot();
  plot.series[0].low = {0.5, 3, 8};
  plot.series[0].high = {1.5, 5, 10};
  const std::string script = GnuplotScript(plot, "svg", "a.svg");
  EXPECT_THAT(script, HasSubstr("3 9 8 10\n"));
  EXPECT_THAT(script, HasSubstr("$series0 using 1:3:4 with filledcurves"));
  EXPECT_THAT(script, Not(HasSubstr("$series1 using 1:3:4")));
  EXPECT_LT(script.find("filledcurves"), script.find("linespoints"));
}

TEST(PlotTest, OtherNamesAreAnError) {
  EXPECT_THAT(
      WritePlot(SmallPlot(), "plot.pdf"),
      testing::Fails(StatusCode::kInvalidArgument, {"plot.pdf", ".svg"}));
  EXPECT_THAT(
      CheckPlotFile("plot.pdf"),
      testing::Fails(StatusCode::kInvalidArgument, {"plot.pdf", ".svg"}));
}

TEST(PlotTest, WithoutGnuplotItIsAnError) {
  const testing::TempDir folder;
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder.path().c_str(), 1);
  const Status check = CheckPlotFile(folder.File("a.svg"));
  const Status write = WritePlot(SmallPlot(), folder.File("a.svg"));
  setenv("PATH", path.c_str(), 1);
  for (const Status& status : {check, write}) {
    EXPECT_THAT(status, testing::Fails(StatusCode::kFailedPrecondition,
                                       {"a.svg", "gnuplot-nox"}));
  }
  EXPECT_THAT(folder.Names(), ElementsAre());
}

TEST(PlotTest, DrawsBothFormatsAndLeavesNothingElse) {
  if (std::system("command -v gnuplot >/dev/null") != 0) {
    GTEST_SKIP() << "gnuplot is not installed (Debian package gnuplot-nox)";
  }
  const testing::TempDir folder;
  ASSERT_OK(WritePlot(SmallPlot(), folder.File("a.svg")));
  ASSERT_OK(WritePlot(SmallPlot(), folder.File("a.png")));
  EXPECT_THAT(*ReadFile(folder.File("a.svg")), HasSubstr("<svg"));
  EXPECT_THAT(*ReadFile(folder.File("a.png")), HasSubstr("PNG"));
  EXPECT_THAT(WritePlot(SmallPlot(), folder.File("none/a.svg")),
              testing::Fails(StatusCode::kNotFound, {"none/a.svg"}));
  EXPECT_OK(CheckPlotFile(folder.File("a.svg")));
  EXPECT_THAT(CheckPlotFile(folder.File("none/a.svg")),
              testing::Fails(StatusCode::kNotFound, {"none/a.svg"}));
  EXPECT_THAT(folder.Names(), ElementsAre("a.png", "a.svg"));
}

}  // namespace
}  // namespace densenet
