#include <fmt/format.h>

#include <memory>

#include "core/cpu/cpu_info.h"
#include "core/io/file.h"
#include "densenet/byte_size.h"
#include "densenet/cli/command.h"
#include "densenet/cli/memory_table.h"
#include "densenet/cli/network_options.h"
#include "densenet/memory_report.h"
#include "densenet/option_range.h"
#include "densenet/plan_table.h"
#include "densenet/plot.h"
#include "densenet/run_folder.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "memory";
constexpr int kMeasuredSteps = 2;  // the second has met everything
constexpr int64_t kDefaultBatch = 64;
constexpr int64_t kMostLayers = 10'000;  // of a block, for --max-depth
constexpr int64_t kDefaultBlocks = 3;    // of --max-depth without a network

struct MemoryOptions {
  NetworkOptions network;
  std::optional<std::vector<int64_t>> depths;
  std::vector<int64_t> batches;  // empty: 64
  bool plan_only = false;
  bool buffers = false;
  bool max_depth = false;
  bool max_batch = false;
  std::optional<std::string> budget;
  int threads = 0;
  std::optional<std::string> json;
  std::optional<std::string> csv;
  std::vector<std::string> plots;

  bool maximizes() const { return max_depth || max_batch; }
};

// What the options ask for.
struct MemoryQuery {
  std::vector<ModelConfig> models;
  std::vector<Strategy> strategies;
  std::vector<int64_t> batches;
  int64_t budget_bytes = 0;
};

// Options that do not go together.
Status CheckCombination(const MemoryOptions& o) {
  const RunOptions& run = o.network.run;
  const auto refuse = [](bool given, const char* text) {
    return given ? InvalidArgument(text) : OkStatus();
  };
  RETURN_IF_ERROR(refuse(o.depths && run.names_model(),
                         "--depths names the networks: leave --depth, --blocks "
                         "and --preset out"));
  RETURN_IF_ERROR(refuse(o.max_depth && o.max_batch,
                         "--max-depth and --max-batch are two questions: ask "
                         "one at a time"));
  RETURN_IF_ERROR(refuse(o.max_depth && (run.depth || o.depths),
                         "--max-depth finds the depth: leave --depth and "
                         "--depths out"));
  RETURN_IF_ERROR(refuse(o.max_batch && o.depths,
                         "--max-batch takes one network: --depth, --blocks or "
                         "--preset"));
  RETURN_IF_ERROR(refuse(o.max_batch && !o.batches.empty(),
                         "--max-batch finds the batch: leave --batch out"));
  RETURN_IF_ERROR(refuse(o.max_depth && o.batches.size() > 1,
                         "--max-depth takes one --batch"));
  RETURN_IF_ERROR(refuse(
      o.maximizes() && (o.csv || !o.plots.empty() || o.buffers),
      "--max-depth and --max-batch print a short table: --csv, --plot and "
      "--buffers go with --depths, --depth or --preset"));
  RETURN_IF_ERROR(refuse(o.budget && !o.maximizes(),
                         "--memory-budget goes with --max-depth or "
                         "--max-batch"));
  RETURN_IF_ERROR(
      refuse(!o.plots.empty() &&
                 (!o.depths || o.depths->size() < 2 || o.batches.size() > 1),
             "--plot draws peak against depth: give two or more "
             "--depths and one --batch"));
  return OkStatus();
}

StatusOr<MemoryQuery> Resolve(const MemoryOptions& options) {
  RETURN_IF_ERROR(CheckCombination(options));
  MemoryQuery query;
  ASSIGN_OR_RETURN(query.strategies, ResolveStrategies(options.network));
  ASSIGN_OR_RETURN(query.budget_bytes,
                   ParseByteSize(options.budget.value_or("12GiB")));
  NetworkOptions network = options.network;
  if (options.max_depth && !network.run.names_model()) {
    network.run.blocks = std::vector<int64_t>(kDefaultBlocks, 1);
  }
  std::vector<std::optional<int64_t>> depths = {network.run.depth};
  if (options.depths)
    depths.assign(options.depths->begin(), options.depths->end());
  for (const std::optional<int64_t>& depth : depths) {
    network.run.depth = depth;
    ASSIGN_OR_RETURN(ModelConfig model, ResolveNetwork(network));
    query.models.push_back(std::move(model));
  }
  query.batches = options.batches;
  if (query.batches.empty()) query.batches = {kDefaultBatch};
  for (int64_t batch : query.batches) {
    RETURN_IF_ERROR(CheckRange("batch", batch, 1, kMaxBatch));
  }
  RETURN_IF_ERROR(CheckRange("threads", options.threads, 0, kMaxThreads));
  return query;
}

Status CheckOutputs(const MemoryOptions& options) {
  RETURN_IF_ERROR(CheckJsonOption(options.json));
  RETURN_IF_ERROR(CheckJsonOption(options.csv));
  for (const std::string& path : options.plots) {
    RETURN_IF_ERROR(CheckPlotFile(path));
  }
  return OkStatus();
}

// Why a row cannot be measured here and now; empty: it can.
std::string WhyNotMeasured(const MemoryRow& row) {
  const int64_t available = GetCpuInfo().available_bytes;
  if (available == 0 || row.planned_bytes < available) return "";
  return fmt::format("  not measured: {} are free, {} are planned\n",
                     FormatByteSize(available),
                     FormatByteSize(row.planned_bytes));
}

// A row of the table. The planning Context is gone, and its threads, before
// anything is measured in a child.
StatusOr<MemoryRow> Answer(const MemoryOptions& options,
                           const ModelConfig& model, Strategy strategy,
                           int64_t batch, std::string* notes) {
  MemoryRow row;
  {
    ASSIGN_OR_RETURN(auto ctx, Context::Create({.threads = options.threads}));
    ASSIGN_OR_RETURN(row, PlanMemory(*ctx, model, strategy, batch));
    if (options.buffers) {
      ASSIGN_OR_RETURN(*notes, PlanTable(*ctx, model, strategy, batch));
    }
  }
  if (options.plan_only) return row;
  const std::string why_not = WhyNotMeasured(row);
  *notes = why_not + *notes;
  if (!why_not.empty()) return row;
  RETURN_IF_ERROR(MeasureMemory(model, options.threads, kMeasuredSteps, &row));
  return row;
}

Status Tabulate(const MemoryOptions& options, const MemoryQuery& query,
                const Environment& env) {
  std::vector<MemoryRow> rows;
  PrintMemoryHeader(env.out);
  for (const ModelConfig& model : query.models) {
    for (int64_t batch : query.batches) {
      for (Strategy strategy : query.strategies) {
        std::string notes;
        ASSIGN_OR_RETURN(MemoryRow row,
                         Answer(options, model, strategy, batch, &notes));
        PrintMemoryRow(env.out, row);
        env.out << notes << std::flush;
        rows.push_back(std::move(row));
      }
    }
  }
  if (options.csv) {
    RETURN_IF_ERROR(WriteFileAtomically(*options.csv, MemoryCsv(rows)));
  }
  for (const std::string& path : options.plots) {
    RETURN_IF_ERROR(WritePlot(MemoryPlot(query.models.front(), rows), path));
  }
  return WriteJsonOption(options.json, MemoryJson(rows));
}

// `model` with `layers` in every block.
ModelConfig WithLayers(ModelConfig model, int64_t layers) {
  for (int64_t& l : model.block_config) l = layers;
  return model;
}

StatusOr<Json> MaxDepthRow(const MemoryQuery& query, const Context& ctx,
                           Strategy strategy, const Environment& env) {
  const ModelConfig& model = query.models.front();
  const int64_t batch = query.batches.front();
  auto family = [&](int64_t layers) { return WithLayers(model, layers); };
  ASSIGN_OR_RETURN(const int64_t layers,
                   LargestIndex(ctx, family, strategy, batch, kMostLayers,
                                query.budget_bytes));
  const int64_t depth = layers == 0 ? 0 : DepthOf(family(layers));
  env.out << fmt::format("{:<14} ", Name(strategy));
  if (layers == 0) {
    ASSIGN_OR_RETURN(const MemoryRow least,
                     PlanMemory(ctx, family(1), strategy, batch));
    env.out << fmt::format("none: depth {} is {}\n", least.depth,
                           FormatByteSize(least.planned_bytes));
  } else {
    env.out << fmt::format("depth {} ({} blocks of {} layers{})\n", depth,
                           model.block_config.size(), layers,
                           layers == kMostLayers ? ", the most tried" : "");
  }
  return Json{
      {"strategy", Name(strategy)}, {"max_depth", depth}, {"batch", batch}};
}

StatusOr<Json> MaxBatchRow(const MemoryQuery& query, const Context& ctx,
                           Strategy strategy, const Environment& env) {
  const ModelConfig& model = query.models.front();
  ASSIGN_OR_RETURN(
      const int64_t batch,
      LargestBatch(ctx, model, strategy, kMaxBatch, query.budget_bytes));
  env.out << fmt::format("{:<14} ", Name(strategy));
  if (batch == 0) {
    ASSIGN_OR_RETURN(const MemoryRow least,
                     PlanMemory(ctx, model, strategy, 1));
    env.out << fmt::format("none: one image is {}\n",
                           FormatByteSize(least.planned_bytes));
  } else {
    env.out << fmt::format("batch {}{}\n", batch,
                           batch == kMaxBatch ? ", the most tried" : "");
  }
  return Json{{"strategy", Name(strategy)},
              {"max_batch", batch},
              {"depth", DepthOf(model)}};
}

// How deep or how large a batch fits the budget, per strategy.
Status Maximize(const MemoryOptions& options, const MemoryQuery& query,
                const Environment& env) {
  ASSIGN_OR_RETURN(auto ctx, Context::Create({.threads = options.threads}));
  const ModelConfig& model = query.models.front();
  env.out << fmt::format(
      "largest within {}: growth {}, {}, images of {} x {}\n",
      FormatByteSize(query.budget_bytes), model.growth_rate,
      options.max_depth ? fmt::format("batches of {}", query.batches.front())
                        : fmt::format("depth {}", DepthOf(model)),
      model.image_height, model.image_width);
  Json list = Json::array();
  for (Strategy strategy : query.strategies) {
    ASSIGN_OR_RETURN(Json row, options.max_depth
                                   ? MaxDepthRow(query, *ctx, strategy, env)
                                   : MaxBatchRow(query, *ctx, strategy, env));
    env.out << std::flush;
    list.push_back(std::move(row));
  }
  return WriteJsonOption(options.json, {{"rows", std::move(list)}});
}

int RunMemory(const MemoryOptions& options, const Environment& env) {
  const StatusOr<MemoryQuery> query = Resolve(options);
  if (!query.ok()) return Report(env, kName, query.status(), kExitUsage);
  Status status = CheckOutputs(options);
  if (status.ok()) {
    status = options.maximizes() ? Maximize(options, *query, env)
                                 : Tabulate(options, *query, env);
  }
  return status.ok() ? kExitDone
                     : Report(env, kName, status, ExitCodeOf(status));
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
  command->add_flag("--buffers", options->buffers,
                    "list every buffer of the arena: bytes, offset, uses");
  command->add_flag("--max-depth", options->max_depth,
                    "how deep fits --memory-budget, per strategy");
  command->add_flag("--max-batch", options->max_batch,
                    "how large a batch fits --memory-budget, per strategy");
  AddOption(*command, "--memory-budget", options->budget,
            "of --max-depth and --max-batch (12GiB)", "SIZE");
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
