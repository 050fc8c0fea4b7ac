#include <fmt/format.h>

#include <memory>

#include "densenet/byte_size.h"
#include "densenet/cli/command.h"
#include "densenet/cli/train_options.h"
#include "densenet/reproduction.h"
#include "densenet/reproduction_estimate.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "reproduce";
constexpr char kDefaultFolder[] = "runs/reproduce";

struct Options {
  ReproductionOptions reproduction;
  std::optional<std::string> preset;
  std::optional<std::string> dataset;
  bool estimate = false;
  int64_t steps = EstimateOptions().steps;
  std::optional<std::string> json;
};

// All rows, or those of the preset, or that one.
StatusOr<std::vector<PaperRow>> SelectRows(const Options& options) {
  if (options.preset) RETURN_IF_ERROR(FindPreset(*options.preset).status());
  if (options.preset && options.dataset) {
    ASSIGN_OR_RETURN(const PaperRow row,
                     FindPaperRow(*options.preset, *options.dataset));
    return std::vector<PaperRow>{row};
  }
  std::vector<PaperRow> rows;
  for (const PaperRow& row : PaperRows()) {
    if (options.preset && row.preset->name != *options.preset) continue;
    if (options.dataset && row.dataset() != *options.dataset) continue;
    rows.push_back(row);
  }
  if (!rows.empty()) return rows;
  return NotFound(fmt::format("the paper has no results on '{}'",
                              options.dataset.value_or("")));
}

void PrintEstimate(const EstimatedRow& row, std::ostream& out) {
  out << fmt::format(
             "{:<20} {:<9} {:>6} {:>10} {:<14} {:>10} {:>9} {:>6} {:>9}\n",
             row.row.preset->name, row.row.dataset(), row.epochs,
             row.train_images, Name(row.strategy),
             FormatByteSize(row.planned_bytes),
             row.image_seconds ? fmt::format("{:.2f}", 1e3 * *row.image_seconds)
                               : "-",
             row.image_seconds ? std::to_string(row.measured_batch) : "-",
             row.hours ? fmt::format("{:.1f}", *row.hours) : "no room")
      << std::flush;
}

Json ToJson(const std::vector<EstimatedRow>& rows) {
  Json list = Json::array();
  for (const EstimatedRow& row : rows) {
    const auto optional = [](const std::optional<double>& value) {
      return value ? Json(*value) : Json(nullptr);
    };
    list.push_back({{"preset", row.row.preset->name},
                    {"dataset", row.row.dataset()},
                    {"epochs", row.epochs},
                    {"train_images", row.train_images},
                    {"strategy", Name(row.strategy)},
                    {"planned_bytes", row.planned_bytes},
                    {"image_seconds", optional(row.image_seconds)},
                    {"measured_batch", row.measured_batch},
                    {"hours", optional(row.hours)}});
  }
  return {{"rows", std::move(list)}};
}

StatusOr<EstimateOptions> ResolveEstimate(const Options& options) {
  const RunOptions& run = options.reproduction.run;
  EstimateOptions estimate;
  ASSIGN_OR_RETURN(estimate.rows, SelectRows(options));
  estimate.epochs_scale = options.reproduction.epochs_scale;
  estimate.threads = run.threads.value_or(0);
  estimate.steps = options.steps;
  if (run.memory_budget) {
    ASSIGN_OR_RETURN(estimate.memory_budget_bytes,
                     ParseByteSize(*run.memory_budget));
  }
  return estimate;
}

Status RunEstimate(const EstimateOptions& estimate, const Options& options,
                   const Environment& env) {
  RETURN_IF_ERROR(CheckJsonOption(options.json));
  env.out << fmt::format(
      "{:<20} {:<9} {:>6} {:>10} {:<14} {:>10} {:>9} {:>6} {:>9}\n", "preset",
      "data", "epochs", "images", "strategy", "memory", "ms/image", "batch",
      "hours");
  ASSIGN_OR_RETURN(const std::vector<EstimatedRow> rows,
                   EstimateReproductions(estimate, [&](const EstimatedRow& r) {
                     PrintEstimate(r, env.out);
                     return !(env.should_stop && env.should_stop());
                   }));
  env.out << fmt::format(
      "hours: of one seed. ms/image: median of {} timed training steps of "
      "`batch` random\nimages, after one untimed, once for each network with "
      "and without dropout. memory:\nplanned, of a step of the recipe's batch. "
      "Images are taken to be prepared beside the\nsteps, and evaluating one "
      "to cost a third of training on it.\n",
      estimate.steps);
  return WriteJsonOption(options.json, ToJson(rows));
}

StatusOr<Reproduction> Plan(const Options& options, const Environment& env) {
  ReproductionOptions asked = options.reproduction;
  if (!options.preset || !options.dataset) {
    return InvalidArgument(
        "which row of the paper? Give a preset and --dataset (densenet presets "
        "lists them), or --estimate for all");
  }
  asked.preset = *options.preset;
  asked.dataset = *options.dataset;
  if (!asked.run.out) asked.run.out = kDefaultFolder;
  if (asked.run.device) {
    ASSIGN_OR_RETURN(asked.run.device,
                     ResolveDevice(*asked.run.device, kName, env));
  }
  return PlanReproduction(asked);
}

Status RunPlan(const Options& options, const Environment& env,
               Reproduction* reproduction) {
  RETURN_IF_ERROR(CheckJsonOption(options.json));
  RETURN_IF_ERROR(RunReproduction({.out = env.out,
                                   .terminal = env.terminal,
                                   .should_stop = env.should_stop},
                                  reproduction));
  if (!reproduction->finished) {
    env.out << "stopped; everything is saved. The same command goes on\n"
            << std::flush;
    return OkStatus();
  }
  env.out << ReproductionText(*reproduction) << std::flush;
  return WriteJsonOption(options.json, ReproductionJson(*reproduction));
}

// A row that is not in the paper is a slip of the command line.
int PlanExitCode(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument ||
                 status.code() == StatusCode::kNotFound
             ? kExitUsage
             : kExitFailed;
}

int Run(const Options& options, const Environment& env) {
  Status status;
  if (options.estimate) {
    const StatusOr<EstimateOptions> estimate = ResolveEstimate(options);
    if (!estimate.ok()) {
      return Report(env, kName, estimate.status(),
                    PlanExitCode(estimate.status()));
    }
    status = RunEstimate(*estimate, options, env);
    if (!status.ok()) return Report(env, kName, status, ExitCodeOf(status));
    return kExitDone;
  }
  StatusOr<Reproduction> reproduction = Plan(options, env);
  if (!reproduction.ok()) {
    return Report(env, kName, reproduction.status(),
                  PlanExitCode(reproduction.status()));
  }
  status = RunPlan(options, env, &*reproduction);
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

// What the paper says is no option: the network, the data set's treatment, the
// optimization but for the seed and for the time that there is.
void RemoveRecipeOptions(CLI::App& command) {
  const auto stays = [](const std::string& name) {
    return name == "seed" || name == "max-time";
  };
  const auto of_recipe = [&](const CLI::Option& option) {
    const std::string& group = option.get_group();
    const std::string name = option.get_single_name();
    if (group == "Model" || group == "Optimization") return !stays(name);
    for (const char* one : {"dataset", "augment", "normalize", "validation",
                            "last-batch", "image-size"}) {
      if (name == one) return true;
    }
    return false;
  };
  std::vector<CLI::Option*> removed;
  for (CLI::Option* option : command.get_options()) {
    if (of_recipe(*option)) removed.push_back(option);
  }
  for (CLI::Option* option : removed) command.remove_option(option);
}

}  // namespace

void AddReproduceCommand(CLI::App& app, const Environment& env,
                         Command* selected) {
  CLI::App* command = app.add_subcommand(
      kName, "a row of the paper: published beside reproduced");
  command->footer(
      "Runs or continues the row by the paper's exact recipe. Stop with "
      "Ctrl-C; the same\ncommand goes on.");
  auto options = std::make_shared<Options>();
  ReproductionOptions& reproduction = options->reproduction;
  AddRunOptions(*command, reproduction.run);
  RemoveRecipeOptions(*command);
  command->get_option("--seed")->description("the first seed (1)");
  command->get_option("--out")->description(
      "folder of the runs; unfinished ones go on (runs/reproduce)");
  AddOption(*command, "preset", options->preset,
            "a network of the paper (see densenet presets)", "PRESET");
  AddOption(*command, "--dataset", options->dataset, "+: augmented",
            "cifar10|cifar10+|cifar100|cifar100+|svhn|imagenet");
  command
      ->add_option("--seeds", reproduction.seeds,
                   "runs: --seed, --seed + 1, ... (1)")
      ->type_name("N");
  command
      ->add_option("--epochs-scale", reproduction.epochs_scale,
                   "shorten epochs and milestones to this part; the row says "
                   "so (1)")
      ->type_name("X");
  command->add_flag("--estimate", options->estimate,
                    "measure how long rows take here, and run none: all rows, "
                    "or those of the preset and data set named");
  command
      ->add_option("--steps", options->steps,
                   "with --estimate: timed steps of each network (3)")
      ->type_name("N");
  AddOption(*command, "--json", options->json, "write {\"rows\": [...]}",
            "FILE");
  command->callback([&env, selected, options] {
    *selected = [&env, options] { return Run(*options, env); };
  });
}

}  // namespace densenet::cli
