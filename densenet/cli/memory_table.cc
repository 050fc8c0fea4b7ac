#include "densenet/cli/memory_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "densenet/byte_size.h"

namespace densenet::cli {
namespace {

std::string Bytes(const std::optional<int64_t>& bytes) {
  return bytes ? FormatByteSize(*bytes) : "-";
}

Json Optional(const std::optional<int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string Cell(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

void PrintMemoryHeader(std::ostream& out) {
  out << fmt::format(
      "{:<14} {:>5} {:>6} {:>5}  {:>10} {:>10} {:>10}  {:>10} {:>10} {:>10} "
      "{:>10} {:>10} {:>10}\n",
      "strategy", "depth", "growth", "batch", "planned", "measured", "resident",
      "features", "stored", "gradients", "scratch", "parameters", "optimizer");
}

void PrintMemoryRow(std::ostream& out, const MemoryRow& row) {
  out << fmt::format(
             "{:<14} {:>5} {:>6} {:>5}  {:>10} {:>10} {:>10}  {:>10} {:>10} "
             "{:>10} {:>10} {:>10} {:>10}\n",
             Name(row.strategy), row.depth, row.growth_rate, row.batch,
             FormatByteSize(row.planned_bytes), Bytes(row.measured_bytes),
             Bytes(row.resident_bytes), FormatByteSize(row.feature_bytes),
             FormatByteSize(row.stored_bytes),
             FormatByteSize(row.gradient_bytes),
             FormatByteSize(row.scratch_bytes),
             FormatByteSize(row.parameter_bytes),
             FormatByteSize(row.optimizer_bytes))
      << std::flush;
}

Json MemoryJson(absl::Span<const MemoryRow> rows) {
  Json list = Json::array();
  for (const MemoryRow& row : rows) {
    list.push_back({{"strategy", Name(row.strategy)},
                    {"depth", row.depth},
                    {"growth", row.growth_rate},
                    {"batch", row.batch},
                    {"planned_bytes", row.planned_bytes},
                    {"activation_bytes", row.activation_bytes},
                    {"measured_bytes", Optional(row.measured_bytes)},
                    {"resident_bytes", Optional(row.resident_bytes)},
                    {"feature_bytes", row.feature_bytes},
                    {"stored_bytes", row.stored_bytes},
                    {"gradient_bytes", row.gradient_bytes},
                    {"scratch_bytes", row.scratch_bytes},
                    {"parameter_bytes", row.parameter_bytes},
                    {"optimizer_bytes", row.optimizer_bytes},
                    {"input_bytes", row.input_bytes}});
  }
  return {{"rows", std::move(list)}};
}

std::string MemoryCsv(absl::Span<const MemoryRow> rows) {
  std::string csv;
  const Json json = MemoryJson(rows);
  for (const Json& row : json["rows"]) {
    std::string names;
    std::string line;
    for (const auto& [key, value] : row.items()) {
      names += (names.empty() ? "" : ",") + key;
      // The first cell is never empty.
      line += (line.empty() ? "" : ",") + Cell(value);
    }
    if (csv.empty()) csv = names + "\n";
    csv += line + "\n";
  }
  return csv;
}

Plot MemoryPlot(const ModelConfig& model, absl::Span<const MemoryRow> rows) {
  constexpr double kGiga = 1e9;
  const bool measured = std::all_of(
      rows.begin(), rows.end(),
      [](const MemoryRow& row) { return row.measured_bytes.has_value(); });
  Plot plot;
  plot.title = fmt::format(
      "Training memory of DenseNet{} (growth {}), batch {}, {} x {} images",
      !model.bottleneck       ? ""
      : model.compression < 1 ? "-BC"
                              : "-B",
      model.growth_rate, rows.front().batch, model.image_height,
      model.image_width);
  plot.x_label = "depth (layers)";
  plot.y_label = measured ? "measured peak, GB" : "planned peak, GB";
  for (const MemoryRow& row : rows) {
    const std::string label(Name(row.strategy));
    auto series =
        std::find_if(plot.series.begin(), plot.series.end(),
                     [&](const PlotSeries& s) { return s.label == label; });
    if (series == plot.series.end()) {
      plot.series.push_back({label, {}, {}});
      series = plot.series.end() - 1;
    }
    series->x.push_back(static_cast<double>(row.depth));
    series->y.push_back(static_cast<double>(measured ? *row.measured_bytes
                                                     : row.planned_bytes) /
                        kGiga);
  }
  return plot;
}

}  // namespace densenet::cli
