// densenet/plot.h
//
// Line plots for reports and papers, drawn by gnuplot: SVG or PNG by the name
// of the file.
//
// Errors   InvalidArgument     the file's name ends in neither .svg nor .png
//          others              the folder cannot be written
//          FailedPrecondition  gnuplot is not installed, or refused
// Threads  safe

#ifndef DENSENET_DENSENET_PLOT_H_
#define DENSENET_DENSENET_PLOT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"

namespace densenet {

struct PlotSeries {
  std::string label;
  std::vector<double> x;
  std::vector<double> y;
  // A band around the line, of the same length; both empty: none.
  std::vector<double> low = {};
  std::vector<double> high = {};
  // Colour and point shape; by default the series' place.
  std::optional<size_t> style = std::nullopt;
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_y = false;
  bool falling = false;  // the curves do: the legend stands on the right
  std::vector<PlotSeries> series;
};

// Whether WritePlot would succeed, before the work whose result it draws.
Status CheckPlotFile(const std::string& path);

// The file appears whole or not at all.
Status WritePlot(const Plot& plot, const std::string& path);

// What gnuplot is told; `terminal` is "svg" or "pngcairo".
std::string GnuplotScript(const Plot& plot, const std::string& terminal,
                          const std::string& path);

}  // namespace densenet

#endif  // DENSENET_DENSENET_PLOT_H_
