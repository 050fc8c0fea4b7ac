#include "densenet/plot.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string_view>

namespace densenet {
namespace {

// Okabe and Ito's palette: told apart by colour-blind readers, and in print
// together with the point shapes.
constexpr std::array<std::string_view, 7> kColors = {
    "#D55E00", "#E69F00", "#56B4E9", "#0072B2",
    "#009E73", "#CC79A7", "#000000"};
constexpr std::array<int, 7> kPoints = {7, 5, 9, 11, 13, 6, 4};

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

}  // namespace

std::string GnuplotScript(const Plot& plot, const std::string& terminal,
                          const std::string& path) {
  // Pixels; the PNG is drawn large enough for print.
  const bool svg = terminal == "svg";
  std::string script = fmt::format(
      "set terminal {} size {} enhanced font 'Helvetica,{}' background rgb "
      "'white'\nset output {}\n",
      terminal, svg ? "800,520" : "1600,1040", svg ? 14 : 26, Quoted(path));
  script += fmt::format(
      "set title {} noenhanced\nset xlabel {}\nset ylabel {}\n"
      "set key left top reverse Left noenhanced\nset border 3\n"
      "set tics nomirror\nset grid ytics lc rgb '#dddddd' lw 1\n",
      Quoted(plot.title), Quoted(plot.x_label), Quoted(plot.y_label));
  script += plot.log_y ? "set logscale y\n" : "set yrange [0:*]\n";
  script += "set offsets graph 0.02, graph 0.02, 0, 0\n";
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    script += fmt::format("$series{} << EOD\n", i);
    for (size_t j = 0; j < series.x.size(); ++j) {
      script += fmt::format("{} {}\n", series.x[j], series.y[j]);
    }
    script += "EOD\n";
  }
  script += "plot ";
  for (size_t i = 0; i < plot.series.size(); ++i) {
    script += fmt::format(
        "{}$series{} using 1:2 with linespoints lw {} pt {} ps {} lc rgb '{}' "
        "title {}",
        i == 0 ? "" : ", ", i, svg ? 2 : 4, kPoints[i % kPoints.size()],
        svg ? 0.8 : 1.6, kColors[i % kColors.size()],
        Quoted(plot.series[i].label));
  }
  return script + "\n";
}

Status WritePlot(const Plot& plot, const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  std::string terminal;
  if (extension == ".svg") {
    terminal = "svg";
  } else if (extension == ".png") {
    terminal = "pngcairo";
  } else {
    return InvalidArgument(fmt::format(
        "cannot plot to '{}': expected a name ending in .svg or .png", path));
  }
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  FILE* gnuplot = popen("gnuplot >/dev/null 2>&1", "w");
  if (gnuplot == nullptr) {
    return FailedPrecondition("cannot plot: no process could be started");
  }
  const std::string script = GnuplotScript(plot, terminal, temporary);
  const bool written =
      fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
  const int exit_status = pclose(gnuplot);
  std::error_code error;
  const bool drawn = written && exit_status == 0 &&
                     std::filesystem::file_size(temporary, error) > 0 && !error;
  if (drawn) std::filesystem::rename(temporary, path, error);
  if (!drawn || error) {
    std::filesystem::remove(temporary, error);
    return FailedPrecondition(fmt::format(
        "cannot plot to '{}': gnuplot failed; is it installed (Debian package "
        "gnuplot-nox) and the folder writable?",
        path));
  }
  return OkStatus();
}

}  // namespace densenet
