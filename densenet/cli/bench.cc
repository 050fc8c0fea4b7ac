#include <fmt/format.h>

#include <memory>
#include <string>

#include "core/cpu/cpu_info.h"
#include "densenet/byte_size.h"
#include "densenet/cli/bench_input.h"
#include "densenet/cli/command.h"
#include "densenet/cli/network_options.h"
#include "densenet/cli/train_options.h"
#include "densenet/memory_report.h"
#include "densenet/option_range.h"
#include "densenet/step_benchmark.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "bench";
constexpr int64_t kMaxSteps = 1'000'000;

struct BenchOptions {
  NetworkOptions network;
  int64_t batch = 64;
  int64_t steps = 10;
  int64_t warm_up = 2;
  int threads = 0;
  bool profile = false;
  bool input = false;
  double seconds = 5;
  std::optional<std::string> json;
};

void PrintRows(std::ostream& out, const std::vector<StepBenchmarkRow>& rows) {
  out << fmt::format("{:<14} {:>9} {:>9} {:>19} {:>9} {:>9} {:>7} {:>10}\n",
                     "strategy", "images/s", "step, s", "fastest - slowest",
                     "GFLOP/s", "GEMM", "share", "planned");
  for (const StepBenchmarkRow& row : rows) {
    out << fmt::format(
        "{:<14} {:>9.1f} {:>9.3f} {:>9.3f} - {:>7.3f} {:>9.1f} {:>9.1f} "
        "{:>6.1f}% {:>10}\n",
        Name(row.strategy), row.images_per_second, row.median_seconds,
        row.fastest_seconds, row.slowest_seconds, row.useful_gflops,
        row.gemm_gflops, 100 * row.share_of_gemm,
        FormatByteSize(row.planned_bytes));
  }
  out << "GFLOP/s: 6 x multiply-adds of the published network / median step. "
         "GEMM: a matrix\nproduct in L1 on the same threads, between the "
         "steps.\n";
}

void PrintProfile(std::ostream& out,
                  const std::vector<StepBenchmarkRow>& rows) {
  for (const StepBenchmarkRow& row : rows) {
    out << fmt::format("\n{}: where a step of {:.3f} s goes\n",
                       Name(row.strategy), row.median_seconds);
    for (const PhaseTime& phase : row.phases) {
      out << fmt::format("  {:<28} {:>8.1f} ms {:>5.1f}%\n", phase.phase,
                         1e3 * phase.seconds,
                         100 * phase.seconds / row.median_seconds);
    }
  }
}

Json RowJson(const StepBenchmarkRow& row) {
  return {{"strategy", Name(row.strategy)},
          {"images_per_second", row.images_per_second},
          {"step_seconds", row.median_seconds},
          {"useful_gflops", row.useful_gflops},
          {"gemm_gflops", row.gemm_gflops},
          {"share_of_gemm", row.share_of_gemm},
          {"planned_bytes", row.planned_bytes}};
}

// One strategy is a result, several are a table.
Json ToJson(const std::vector<StepBenchmarkRow>& rows) {
  if (rows.size() == 1) return RowJson(rows.front());
  Json list = Json::array();
  for (const StepBenchmarkRow& row : rows) list.push_back(RowJson(row));
  return {{"rows", std::move(list)}};
}

// The strategies are there side by side; the machine must hold them all.
Status CheckRoom(const Context& ctx, const StepBenchmarkOptions& bench) {
  int64_t planned = 0;
  for (Strategy strategy : bench.strategies) {
    ASSIGN_OR_RETURN(const MemoryRow row,
                     PlanMemory(ctx, bench.model, strategy, bench.batch));
    planned += row.planned_bytes;
  }
  const int64_t available = GetCpuInfo().available_bytes;
  if (available == 0 || planned < available) return OkStatus();
  return ResourceExhausted(fmt::format(
      "{} strategies side by side with --batch {} plan {}, {} are free: name "
      "fewer with --strategy, or give a smaller --batch",
      bench.strategies.size(), bench.batch, FormatByteSize(planned),
      FormatByteSize(available)));
}

Status RunBench(const BenchOptions& options, const StepBenchmarkOptions& bench,
                const Environment& env) {
  RETURN_IF_ERROR(CheckJsonOption(options.json));
  ASSIGN_OR_RETURN(auto ctx, Context::Create({.threads = options.threads}));
  RETURN_IF_ERROR(CheckRoom(*ctx, bench));
  HostMemory memory;
  ASSIGN_OR_RETURN(const std::vector<StepBenchmarkRow> rows,
                   RunStepBenchmark(*ctx, memory, bench));
  PrintRows(env.out, rows);
  if (options.profile) PrintProfile(env.out, rows);
  return WriteJsonOption(options.json, ToJson(rows));
}

StatusOr<StepBenchmarkOptions> Resolve(const BenchOptions& options) {
  StepBenchmarkOptions bench;
  ASSIGN_OR_RETURN(bench.model, ResolveNetwork(options.network));
  ASSIGN_OR_RETURN(bench.strategies, ResolveStrategies(options.network));
  RETURN_IF_ERROR(CheckRange("batch", options.batch, 1, kMaxBatch));
  RETURN_IF_ERROR(CheckRange("steps", options.steps, 1, kMaxSteps));
  RETURN_IF_ERROR(CheckRange("warm-up", options.warm_up, 0, kMaxSteps));
  RETURN_IF_ERROR(CheckRange("threads", options.threads, 0, kMaxThreads));
  bench.batch = options.batch;
  bench.steps = options.steps;
  bench.warm_up_steps = options.warm_up;
  return bench;
}

BenchInputOptions InputOptions(const BenchOptions& options) {
  BenchInputOptions input;
  input.run = options.network.run;
  input.run.image_size = options.network.image_size;
  input.run.batch = std::to_string(options.batch);
  input.run.threads = options.threads;
  if (options.network.strategies && !options.network.strategies->empty()) {
    input.run.strategy = options.network.strategies->front();
  }
  input.steps = options.steps;
  input.warm_up = options.warm_up;
  input.seconds = options.seconds;
  input.json = options.json;
  return input;
}

}  // namespace

void AddBenchCommand(CLI::App& app, const Environment& env, Command* selected) {
  CLI::App* command = app.add_subcommand(
      kName, "speed of a training step, per memory strategy");
  auto options = std::make_shared<BenchOptions>();
  AddNetworkOptions(*command, options->network);
  command->add_option("--batch", options->batch, "images of a step (64)");
  command->add_option("--steps", options->steps, "timed steps each (10)");
  command->add_option("--warm-up", options->warm_up,
                      "untimed steps before them (2)");
  command->add_option("--threads", options->threads, "(all)");
  command->add_flag("--profile", options->profile,
                    "say where the time goes, phase by phase");
  command->add_flag("--input", options->input,
                    "measure the images of --dataset instead: how many a "
                    "second the workers prepare and, of the network if one is "
                    "named, how long a step waits for them");
  command->add_option("--seconds", options->seconds,
                      "with --input: how long images are prepared (5)");
  AddDataOptions(*command, options->network.run);
  AddOption(*command, "--json", options->json,
            "write the medians: an object, or {\"rows\": [...]} for several "
            "strategies",
            "FILE");
  command->callback([&env, selected, options] {
    *selected = [&env, options]() -> int {
      if (options->input) return RunBenchInput(InputOptions(*options), env);
      const StatusOr<StepBenchmarkOptions> bench = Resolve(*options);
      if (!bench.ok()) {
        return Report(env, kName, bench.status(), kExitUsage);
      }
      const Status status = RunBench(*options, *bench, env);
      return status.ok() ? kExitDone
                         : Report(env, kName, status, ExitCodeOf(status));
    };
  });
}

}  // namespace densenet::cli
