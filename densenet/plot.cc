#include "densenet/plot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "core/io/file.h"
#include "densenet/run_folder.h"

namespace densenet {
namespace {

// Okabe and Ito's palette: told apart by colour-blind readers, and in print
// together with the point shapes.
constexpr std::array<std::string_view, 7> kColors = {
    "#D55E00", "#E69F00", "#56B4E9", "#0072B2",
    "#009E73", "#CC79A7", "#000000"};
constexpr std::array<int, 7> kPoints = {7, 5, 9, 11, 13, 6, 4};
// Point shapes of a line; of longer ones some are left out.
constexpr size_t kMostPoints = 30;

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

// Its points, a line each: x, y and, with a band, low and high.
std::string DataBlock(size_t number, const PlotSeries& series) {
  std::string block = fmt::format("$series{} << EOD\n", number);
  for (size_t j = 0; j < series.x.size(); ++j) {
    block += fmt::format("{} {}", series.x[j], series.y[j]);
    if (!series.low.empty()) {
      block += fmt::format(" {} {}", series.low[j], series.high[j]);
    }
    block += '\n';
  }
  return block + "EOD\n";
}

// "svg" or "pngcairo", by the name of the file.
StatusOr<std::string> TerminalOf(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  if (extension == ".svg") return std::string("svg");
  if (extension == ".png") return std::string("pngcairo");
  return InvalidArgument(fmt::format(
      "cannot plot to '{}': expected a name ending in .svg or .png", path));
}

// Runs gnuplot on `argument` and waits; true when it succeeded.
bool RunGnuplot(std::string argument) {
  std::string program = "gnuplot";
  char* const argv[] = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t silent;
  if (posix_spawn_file_actions_init(&silent) != 0) return false;
  bool done = true;
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    done = done && posix_spawn_file_actions_addopen(&silent, fd, "/dev/null",
                                                    O_RDWR, 0) == 0;
  }
  pid_t child = 0;
  done = done && posix_spawnp(&child, program.c_str(), &silent, nullptr, argv,
                              environ) == 0;
  posix_spawn_file_actions_destroy(&silent);
  int exit_status = 0;
  while (done && waitpid(child, &exit_status, 0) < 0) done = errno == EINTR;
  return done && exit_status == 0;
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
      "set key {} top reverse Left noenhanced\nset border 3\n"
      "set tics nomirror\nset grid ytics lc rgb '#dddddd' lw 1\n",
      Quoted(plot.title), Quoted(plot.x_label), Quoted(plot.y_label),
      plot.falling ? "right" : "left");
  script += plot.log_y ? "set logscale y\n" : "set yrange [0:*]\n";
  script += "set offsets graph 0.02, graph 0.02, 0, 0\n";
  for (size_t i = 0; i < plot.series.size(); ++i) {
    script += DataBlock(i, plot.series[i]);
  }
  std::vector<std::string> drawn;
  // Bands first, so that every line lies above them.
  for (size_t i = 0; i < plot.series.size(); ++i) {
    if (plot.series[i].low.empty()) continue;
    const size_t style = plot.series[i].style.value_or(i);
    drawn.push_back(fmt::format(
        "$series{} using 1:3:4 with filledcurves fs transparent solid 0.2 "
        "noborder lc rgb '{}' notitle",
        i, kColors[style % kColors.size()]));
  }
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const size_t style = plot.series[i].style.value_or(i);
    drawn.push_back(fmt::format(
        "$series{} using 1:2 with linespoints lw {} pt {} ps {} pi {} lc rgb "
        "'{}' title {}",
        i, svg ? 2 : 4, kPoints[style % kPoints.size()], svg ? 0.8 : 1.6,
        1 + plot.series[i].x.size() / kMostPoints,
        kColors[style % kColors.size()], Quoted(plot.series[i].label)));
  }
  script += fmt::format("plot {}", fmt::join(drawn, ", "));
  return script + "\n";
}

Status CheckPlotFile(const std::string& path) {
  RETURN_IF_ERROR(TerminalOf(path).status());
  RETURN_IF_ERROR(CheckCanWriteFile(path));
  if (RunGnuplot("--version")) return OkStatus();
  return FailedPrecondition(fmt::format(
      "cannot plot to '{}': gnuplot does not run; is it installed (Debian "
      "package gnuplot-nox)?",
      path));
}

Status WritePlot(const Plot& plot, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string terminal, TerminalOf(path));
  const std::string drawing = fmt::format("{}.{}.tmp", path, getpid());
  const std::string script = drawing + ".gnuplot";
  RETURN_IF_ERROR(
      WriteFileAtomically(script, GnuplotScript(plot, terminal, drawing)));
  bool drawn = RunGnuplot(script);
  std::error_code error;
  drawn = drawn && std::filesystem::file_size(drawing, error) > 0 && !error;
  if (drawn) std::filesystem::rename(drawing, path, error);
  drawn = drawn && !error;
  std::filesystem::remove(script, error);
  if (drawn) return OkStatus();
  std::filesystem::remove(drawing, error);
  return FailedPrecondition(fmt::format(
      "cannot plot to '{}': gnuplot failed; is it installed (Debian package "
      "gnuplot-nox)?",
      path));
}

}  // namespace densenet
