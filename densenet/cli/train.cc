#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "densenet/byte_size.h"
#include "densenet/cli/command.h"
#include "densenet/cli/fetch_data.h"
#include "densenet/cli/train_options.h"
#include "densenet/console.h"
#include "densenet/data/dataset_catalog.h"
#include "densenet/evaluator.h"
#include "densenet/progress_meter.h"
#include "densenet/trainer.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "train";

struct Options {
  RunOptions run;
  bool fetch = false;
  FetchFlags download;
  std::optional<std::string> config;
  std::optional<std::string> json;
};

// The file whose options fill in what the command line leaves open: --config,
// or that of a run folder which is named without saying all of what to train.
std::optional<std::string> ConfigFile(const Options& options) {
  if (options.config) return options.config;
  const RunOptions& run = options.run;
  if (!run.out || (run.names_model() && run.dataset)) return std::nullopt;
  const std::string path =
      (std::filesystem::path(*run.out) / "config.json").string();
  std::error_code error;
  return std::filesystem::exists(path, error) ? std::optional(path)
                                              : std::nullopt;
}

Json ToJson(const RunConfig& config, const TrainResult& result) {
  Json json;
  json["steps"] = result.steps;
  json["epochs"] = result.epochs;
  json["error_percent"] =
      result.test ? Json(result.test->error_percent) : Json(nullptr);
  if (result.test && result.test->top5_error_percent) {
    json["top5_error_percent"] = *result.test->top5_error_percent;
  }
  json["best_error_percent"] =
      result.best_step < 0 ? Json(nullptr) : Json(result.best_error);
  json["best_step"] = result.best_step;
  json["best_on"] = config.validation > 0 ? "validation" : "test";
  json["images_per_second"] = result.images_per_second;
  json["planned_peak_bytes"] = result.planned_peak_bytes;
  json["measured_peak_bytes"] = result.measured_peak_bytes;
  json["checkpoint"] = result.checkpoint;
  return json;
}

void PrintResult(const RunConfig& config, const TrainResult& result,
                 Console& console) {
  console.Line(fmt::format("memory  planned peak {} bytes, measured {} bytes",
                           result.planned_peak_bytes,
                           result.measured_peak_bytes));
  if (result.stopped) {
    console.Line(fmt::format(
        "stopped after {} steps, {} of {} epochs done; saved {}. To go on: "
        "densenet train --out {}",
        result.steps, result.epochs, config.epochs, result.checkpoint,
        config.out));
    return;
  }
  console.Line(fmt::format(
      "done    test {}, loss {:.4f} after {} epochs, {} steps, {:.0f} "
      "images/s; {}",
      ErrorText(*result.test), result.test->loss, result.epochs, result.steps,
      result.images_per_second, result.checkpoint));
  if (result.best_step >= 0) {
    console.Line(fmt::format("best    {} error {:.2f}% at step {}; in {}/best",
                             config.validation > 0 ? "validation" : "test",
                             result.best_error, result.best_step, config.out));
  }
}

// --fetch: what is missing of the data set.
Status FetchMissing(const Options& options, const RunConfig& config,
                    const Environment& env, Console& console) {
  Status missing;
  for (Split split : {Split::kTrain, Split::kTest}) {
    const std::string folder =
        config.data.empty() ? DefaultDataFolder(config.dataset) : config.data;
    missing.Update(FindPublishedFiles(config.dataset, folder, split).status());
  }
  if (missing.ok()) return OkStatus();
  if (config.data.empty()) {
    return InvalidArgument("--fetch: name the folder to fetch to with --data");
  }
  return FetchWithProgress(config.dataset, config.data,
                           options.download.ToOptions(env.should_stop), console)
      .status();
}

int Run(const Options& options, const Environment& env) {
  RunOptions given = options.run;
  const std::optional<std::string> file = ConfigFile(options);
  if (!file && given.out && !given.names_model() && !given.dataset) {
    return Report(env, kName,
                  InvalidArgument(fmt::format(
                      "there is no run to go on with in '{}': it has no "
                      "config.json. To start one, name a network and --dataset",
                      *given.out)),
                  kExitUsage);
  }
  if (file) {
    StatusOr<RunOptions> merged = MergeConfigFile(*file, given);
    if (!merged.ok()) return Report(env, kName, merged.status(), kExitUsage);
    given = *std::move(merged);
  }
  StatusOr<RunConfig> config = ResolveRunConfig(given);
  if (!config.ok()) return Report(env, kName, config.status(), kExitUsage);
  StatusOr<std::string> device = ResolveDevice(config->device, kName, env);
  if (!device.ok()) return Report(env, kName, device.status(), kExitFailed);
  config->device = *device;
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);

  Console console(env.out, env.terminal);
  if (options.fetch) {
    status = FetchMissing(options, *config, env, console);
    if (!status.ok()) return Report(env, kName, status, ExitCodeOf(status));
  }
  TrainHooks hooks;
  hooks.should_stop = env.should_stop;
  StatusOr<TrainResult> result = Train(*config, hooks, console);
  console.ClearBar();
  if (!result.ok()) return Report(env, kName, result.status(), kExitFailed);
  PrintResult(*config, *result, console);
  status = WriteJsonOption(options.json, ToJson(*config, *result));
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

}  // namespace

void AddTrainCommand(CLI::App& app, const Environment& env, Command* selected) {
  CLI::App* command = app.add_subcommand(
      kName, "train a model; resumes the run that --out holds");
  command->footer(
      "Defaults are in parentheses. Stop with Ctrl-C: the step is finished "
      "and saved;\nthe same command, or densenet train --out DIR, goes on.");
  auto options = std::make_shared<Options>();
  AddRunOptions(*command, options->run);
  CLI::Option* fetch = command->add_flag(
      "--fetch", options->fetch,
      "download the data set to --data first if it is not there");
  fetch->group("Download");
  AddFetchFlags(*command, options->download);
  for (const char* name : {"--url", "--connect-seconds", "--stall-seconds"}) {
    command->get_option(name)->needs(fetch);
  }
  AddOption(*command, "--config", options->config,
            "JSON file with a key per option, such as a run's config.json; "
            "options on the command line win",
            "FILE");
  AddOption(*command, "--json", options->json, "write the result", "FILE");
  command->callback([&env, selected, options] {
    *selected = [&env, options] { return Run(*options, env); };
  });
}

}  // namespace densenet::cli
