#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "absl/strings/numbers.h"
#include "core/io/file.h"
#include "densenet/cli/command.h"
#include "densenet/cli/train_options.h"
#include "densenet/comparison.h"
#include "densenet/comparison_report.h"
#include "densenet/plot.h"
#include "densenet/run_folder.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "compare";
constexpr char kDefaultFolder[] = "runs/compare";

struct Options {
  ComparisonOptions comparison;
  std::vector<std::string> rates = {"auto"};
  std::optional<std::string> config;
  std::optional<std::string> json;
  std::optional<std::string> csv;
  std::vector<std::string> plots;
};

// "auto", or numbers.
StatusOr<std::vector<double>> ParseRates(const std::vector<std::string>& text) {
  std::vector<double> rates;
  if (text == std::vector<std::string>{"auto"}) return rates;
  for (const std::string& one : text) {
    double rate = 0;
    if (!absl::SimpleAtod(one, &rate)) {
      return InvalidArgument(fmt::format(
          "--lrs: '{}' is no rate; expected auto, or numbers", one));
    }
    rates.push_back(rate);
  }
  return rates;
}

StatusOr<Comparison> Plan(const Options& options, const Environment& env) {
  ComparisonOptions asked = options.comparison;
  ASSIGN_OR_RETURN(asked.learning_rates, ParseRates(options.rates));
  RunOptions& recipe = asked.recipe;
  if (options.config) {
    ASSIGN_OR_RETURN(recipe, MergeConfigFile(*options.config, recipe));
  }
  if (!recipe.out) recipe.out = kDefaultFolder;
  if (recipe.device) {
    ASSIGN_OR_RETURN(recipe.device, ResolveDevice(*recipe.device, kName, env));
  }
  return PlanComparison(asked);
}

Status CheckOutputs(const Options& options) {
  RETURN_IF_ERROR(CheckJsonOption(options.json));
  RETURN_IF_ERROR(CheckJsonOption(options.csv));
  for (const std::string& path : options.plots) {
    RETURN_IF_ERROR(CheckPlotFile(path));
  }
  return OkStatus();
}

// In the folder, and where the options say.
Status WriteReport(const Options& options, const Comparison& comparison,
                   const Environment& env) {
  const std::string text = ComparisonText(comparison);
  env.out << text << std::flush;
  const auto in_folder = [&](const char* name) {
    return (std::filesystem::path(comparison.folder()) / name).string();
  };
  const std::string json = DumpJson(ComparisonJson(comparison), 2) + "\n";
  const std::string csv = ComparisonCsv(comparison);
  RETURN_IF_ERROR(WriteFileAtomically(in_folder("comparison.txt"), text));
  RETURN_IF_ERROR(WriteFileAtomically(in_folder("comparison.json"), json));
  RETURN_IF_ERROR(WriteFileAtomically(in_folder("comparison.csv"), csv));
  if (options.json) RETURN_IF_ERROR(WriteFileAtomically(*options.json, json));
  if (options.csv) RETURN_IF_ERROR(WriteFileAtomically(*options.csv, csv));
  const Plot plot = ComparisonPlot(comparison);
  if (plot.series.empty()) {
    env.out << "no plot: every run diverged\n" << std::flush;
    return OkStatus();
  }
  for (const std::string& path : options.plots) {
    RETURN_IF_ERROR(WritePlot(plot, path));
  }
  const Status drawn = WritePlot(plot, in_folder("comparison.svg"));
  if (!drawn.ok()) {
    // Nobody asked for this one, and everything else is there.
    env.out << "no plot: " << StdView(drawn.message()) << '\n' << std::flush;
  }
  return OkStatus();
}

int Run(const Options& options, const Environment& env) {
  StatusOr<Comparison> comparison = Plan(options, env);
  if (!comparison.ok()) {
    return Report(env, kName, comparison.status(),
                  comparison.status().code() == StatusCode::kUnimplemented
                      ? kExitFailed
                      : kExitUsage);
  }
  Status status = CheckOutputs(options);
  if (status.ok()) {
    status = RunComparison({.out = env.out,
                            .terminal = env.terminal,
                            .should_stop = env.should_stop},
                           &*comparison);
  }
  if (status.ok() && !comparison->finished) {
    env.out << "stopped; everything is saved. The same command goes on\n"
            << std::flush;
    return kExitDone;
  }
  if (status.ok()) status = WriteReport(options, *comparison, env);
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

// What the comparison sets itself.
void RemoveOptions(CLI::App& command) {
  for (const char* name : {"--optimizer", "--lr"}) {
    command.remove_option(command.get_option(name));
  }
  command.get_option("--seed")->description(
      "the first seed: of initial values, order, augmentation, dropout (1)");
  command.get_option("--validation")
      ->description(
          "training images to hold out and choose the rates on (a tenth, at "
          "most 5000)");
  command.get_option("--out")->description(
      "folder of the comparison; an unfinished one in it goes on "
      "(runs/compare)");
}

// `options` must outlive the parsing.
void AddOutputOptions(CLI::App& command, Options& options) {
  AddOption(command, "--json", options.json,
            "write {\"rows\": [...], \"pairs\": [...]}", "FILE");
  AddOption(command, "--csv", options.csv, "write a row for each run", "FILE");
  command
      .add_option("--plot", options.plots,
                  "draw the error curves: FILE.svg, FILE.png")
      ->delimiter(',')
      ->type_name("FILE,...");
}

}  // namespace

void AddCompareCommand(CLI::App& app, const Environment& env,
                       Command* selected) {
  CLI::App* command = app.add_subcommand(
      kName, "optimizers side by side: one recipe, the same seeds, and tests");
  command->footer(
      "Every run is a run folder below --out. Stop with Ctrl-C; the same "
      "command goes on.");
  auto options = std::make_shared<Options>();
  command
      ->add_option("--optimizers", options->comparison.optimizers,
                   "what to compare")
      ->delimiter(',')
      ->required()
      ->type_name("NAME,NAME,...");
  command
      ->add_option("--lrs", options->rates,
                   "one rate: all run at it; several, or auto: each runs at "
                   "its best on --validation images (auto)")
      ->delimiter(',')
      ->type_name("auto|X,X,...");
  command
      ->add_option("--seeds", options->comparison.seeds,
                   "runs of each: --seed, --seed + 1, ... (3)")
      ->type_name("N");
  command
      ->add_option("--grid-seeds", options->comparison.grid_seeds,
                   "runs at each rate of the search (1)")
      ->type_name("N");
  AddOption(*command, "--grid-epochs", options->comparison.grid_epochs,
            "epochs of the search's runs (--epochs)", "N");
  AddRunOptions(*command, options->comparison.recipe);
  RemoveOptions(*command);
  AddOption(*command, "--config", options->config,
            "recipe from a JSON file with a key per option, such as a run's "
            "config.json",
            "FILE");
  AddOutputOptions(*command, *options);
  command->callback([&env, selected, options] {
    *selected = [&env, options] { return Run(*options, env); };
  });
}

}  // namespace densenet::cli
