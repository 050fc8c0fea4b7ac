#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/io/file.h"
#include "densenet/byte_size.h"
#include "densenet/cli/command.h"
#include "densenet/cli/network_options.h"
#include "densenet/memory_report.h"
#include "densenet/plot.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "memory";
constexpr int kMeasuredSteps = 2;  // the second has met everything

struct MemoryOptions {
  NetworkOptions network;
  std::optional<std::vector<int64_t>> depths;
  std::vector<int64_t> batches = {64};
  bool plan_only = false;
  bool max_depth = false;
  bool max_batch = false;
  std::string budget = "12GiB";
  int threads = 0;
  std::optional<std::string> json;
  std::optional<std::string> csv;
  std::vector<std::string> plots;
};

// What the options ask for.
struct MemoryQuery {
  std::vector<ModelConfig> models;
  std::vector<Strategy> strategies;
  int64_t budget_bytes = 0;
};

StatusOr<MemoryQuery> Resolve(const MemoryOptions& options) {
  MemoryQuery query;
  ASSIGN_OR_RETURN(query.strategies, ResolveStrategies(options.network));
  ASSIGN_OR_RETURN(query.budget_bytes, ParseByteSize(options.budget));
  NetworkOptions network = options.network;
  if (options.depths &&
      (network.run.depth || network.run.preset || network.run.blocks)) {
    return InvalidArgument(
        "--depths names the networks: leave --depth, --blocks and --preset "
        "out");
  }
  std::vector<std::optional<int64_t>> depths = {network.run.depth};
  if (options.depths)
    depths.assign(options.depths->begin(), options.depths->end());
  for (const std::optional<int64_t>& depth : depths) {
    network.run.depth = depth;
    ASSIGN_OR_RETURN(ModelConfig model, ResolveNetwork(network));
    query.models.push_back(std::move(model));
  }
  for (int64_t batch : options.batches) {
    if (batch < 1) {
      return InvalidArgument(
          fmt::format("--batch {}: expected 1 or more", batch));
    }
  }
  if (options.threads < 0) {
    return InvalidArgument(
        fmt::format("--threads {}: expected 0 or more", options.threads));
  }
  return query;
}

std::string Bytes(const std::optional<int64_t>& bytes) {
  return bytes ? FormatByteSize(*bytes) : "-";
}

void PrintHeader(std::ostream& out) {
  out << fmt::format(
      "{:<14} {:>5} {:>6} {:>5}  {:>10} {:>10} {:>10}  {:>10} {:>10} {:>10} "
      "{:>10} {:>10} {:>10}\n",
      "strategy", "depth", "growth", "batch", "planned", "measured", "resident",
      "features", "stored", "gradients", "scratch", "parameters", "optimizer");
}

void PrintRow(std::ostream& out, const MemoryRow& row) {
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

Json Optional(const std::optional<int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json ToJson(const std::vector<MemoryRow>& rows) {
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

// The keys of the JSON rows as columns; null is an empty cell.
std::string ToCsv(const std::vector<MemoryRow>& rows) {
  std::string csv;
  const Json json = ToJson(rows);
  for (const Json& row : json["rows"]) {
    if (csv.empty()) {
      for (const auto& [key, value] : row.items()) {
        csv += (csv.empty() ? "" : ",") + key;
      }
      csv += "\n";
    }
    std::string line;
    bool first = true;
    for (const auto& [key, value] : row.items()) {
      if (!first) line += ",";
      first = false;
      if (value.is_string()) {
        line += value.get<std::string>();
      } else if (!value.is_null()) {
        line += value.dump();
      }
    }
    csv += line + "\n";
  }
  return csv;
}

// Peak against depth, a curve for each strategy; measured where it is known.
Plot MakePlot(const MemoryQuery& query, const std::vector<MemoryRow>& rows) {
  constexpr double kGiga = 1e9;
  const ModelConfig& model = query.models.front();
  const bool measured = std::all_of(
      rows.begin(), rows.end(),
      [](const MemoryRow& row) { return row.measured_bytes.has_value(); });
  Plot plot;
  plot.title = fmt::format(
      "Training memory of DenseNet{} (growth {}), batch {}, {} x {} images",
      model.bottleneck ? "-BC" : "", model.growth_rate, rows.front().batch,
      model.image_height, model.image_width);
  plot.x_label = "depth (layers)";
  plot.y_label = measured ? "measured peak, GB" : "planned peak, GB";
  for (Strategy strategy : query.strategies) {
    PlotSeries series;
    series.label = Name(strategy);
    for (const MemoryRow& row : rows) {
      if (row.strategy != strategy || row.batch != rows.front().batch) continue;
      series.x.push_back(static_cast<double>(row.depth));
      series.y.push_back(static_cast<double>(measured ? *row.measured_bytes
                                                      : row.planned_bytes) /
                         kGiga);
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

StatusOr<std::vector<MemoryRow>> PlanRows(const MemoryOptions& options,
                                          const MemoryQuery& query) {
  ASSIGN_OR_RETURN(auto ctx, Context::Create({.threads = options.threads}));
  std::vector<MemoryRow> rows;
  for (const ModelConfig& model : query.models) {
    for (int64_t batch : options.batches) {
      for (Strategy strategy : query.strategies) {
        ASSIGN_OR_RETURN(MemoryRow row,
                         PlanMemory(*ctx, model, strategy, batch));
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

Status Tabulate(const MemoryOptions& options, const MemoryQuery& query,
                const Environment& env) {
  // The planning Context is gone, and its threads, before anything is measured
  // in a child.
  ASSIGN_OR_RETURN(std::vector<MemoryRow> rows, PlanRows(options, query));
  PrintHeader(env.out);
  size_t next = 0;
  for (const ModelConfig& model : query.models) {
    const size_t count = options.batches.size() * query.strategies.size();
    for (size_t i = 0; i < count; ++i) {
      MemoryRow& row = rows[next++];
      if (!options.plan_only) {
        RETURN_IF_ERROR(
            MeasureMemory(model, options.threads, kMeasuredSteps, &row));
      }
      PrintRow(env.out, row);
    }
  }
  if (options.csv) {
    RETURN_IF_ERROR(WriteFileAtomically(*options.csv, ToCsv(rows)));
  }
  for (const std::string& path : options.plots) {
    RETURN_IF_ERROR(WritePlot(MakePlot(query, rows), path));
  }
  return WriteJsonOption(options.json, ToJson(rows));
}

// How deep or how large a batch fits the budget, per strategy.
Status Maximize(const MemoryOptions& options, const MemoryQuery& query,
                const Environment& env) {
  ASSIGN_OR_RETURN(auto ctx, Context::Create({.threads = options.threads}));
  const ModelConfig& model = query.models.front();
  const int64_t unit = static_cast<int64_t>(model.block_config.size()) *
                       (model.bottleneck ? 2 : 1);
  auto family = [&](int64_t layers) {
    ModelConfig member = model;
    for (int64_t& l : member.block_config) l = layers;
    return member;
  };
  Json list = Json::array();
  env.out << fmt::format("largest within {}, {} images of {} x {}\n",
                         FormatByteSize(query.budget_bytes),
                         options.max_depth
                             ? fmt::format("batches of {}", options.batches[0])
                             : fmt::format("depth {}", DepthOf(model)),
                         model.image_height, model.image_width);
  for (Strategy strategy : query.strategies) {
    Json row = {{"strategy", Name(strategy)}};
    if (options.max_depth) {
      ASSIGN_OR_RETURN(const int64_t layers,
                       LargestIndex(*ctx, family, strategy, options.batches[0],
                                    query.budget_bytes));
      const int64_t depth = layers == 0 ? 0 : DepthOf(family(layers));
      row["max_depth"] = depth;
      row["batch"] = options.batches[0];
      env.out << fmt::format(
          "{:<14} depth {} ({} layers a block, {} each)\n", Name(strategy),
          depth, layers,
          unit / static_cast<int64_t>(model.block_config.size()));
    }
    if (options.max_batch) {
      ASSIGN_OR_RETURN(const int64_t batch,
                       LargestBatch(*ctx, model, strategy, query.budget_bytes));
      row["max_batch"] = batch;
      row["depth"] = DepthOf(model);
      env.out << fmt::format("{:<14} batch {}\n", Name(strategy), batch);
    }
    list.push_back(std::move(row));
  }
  return WriteJsonOption(options.json, {{"rows", std::move(list)}});
}

int RunMemory(const MemoryOptions& options, const Environment& env) {
  const StatusOr<MemoryQuery> query = Resolve(options);
  if (!query.ok()) return Report(env, kName, query.status(), kExitUsage);
  Status status = CheckJsonOption(options.json);
  if (status.ok()) {
    status = options.max_depth || options.max_batch
                 ? Maximize(options, *query, env)
                 : Tabulate(options, *query, env);
  }
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

}  // namespace

void AddMemoryCommand(CLI::App& app, const Environment& env,
                      Command* selected) {
  CLI::App* command = app.add_subcommand(
      kName, "planned and measured peak per strategy, depth and batch");
  auto options = std::make_shared<MemoryOptions>();
  AddNetworkOptions(*command, options->network);
  AddOption(*command, "--depths", options->depths,
            "several depths, with --growth and --bottleneck", "N,N,...")
      ->delimiter(',');
  command
      ->add_option("--batch", options->batches, "images of a step (64); a list")
      ->delimiter(',');
  command->add_flag("--plan-only", options->plan_only,
                    "plan, and allocate nothing");
  command->add_flag("--max-depth", options->max_depth,
                    "how deep fits --memory-budget, per strategy");
  command->add_flag("--max-batch", options->max_batch,
                    "how large a batch fits --memory-budget, per strategy");
  command->add_option("--memory-budget", options->budget, "(12GiB)");
  command->add_option("--threads", options->threads, "(all)");
  AddOption(*command, "--json", options->json,
            "write {\"rows\": [{\"strategy\", ...}]}", "FILE");
  AddOption(*command, "--csv", options->csv, "write the rows as CSV", "FILE");
  command
      ->add_option("--plot", options->plots,
                   "draw peak against depth: FILE.svg, FILE.png")
      ->delimiter(',');
  command->callback([&env, selected, options] {
    *selected = [&env, options] { return RunMemory(*options, env); };
  });
}

}  // namespace densenet::cli
