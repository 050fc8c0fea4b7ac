#include "densenet/checkpoint_average.h"

#include <fmt/format.h>

#include <memory>

#include "densenet/checkpoint_folder.h"
#include "densenet/cli/checkpoint.h"
#include "densenet/run_folder.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "checkpoint average";

struct Options {
  std::vector<std::string> files;
  std::string out;
  std::optional<std::string> json;
};

StatusOr<Json> Average(const Options& options, const Environment& env) {
  RETURN_IF_ERROR(CheckCanWriteFile(options.out));
  std::vector<Checkpoint> checkpoints;
  for (const std::string& path : options.files) {
    ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(path));
    checkpoints.push_back(std::move(checkpoint));
  }
  HostMemory memory;
  ASSIGN_OR_RETURN(const AveragedNetwork average,
                   AverageCheckpoints(memory, checkpoints));
  RETURN_IF_ERROR(
      SaveCheckpoint(options.out, average.info, *average.store, {}));
  env.out << fmt::format(
      "mean of {} checkpoints of {}, up to step {}, written to {}\n"
      "its running statistics are means too: evaluate it before you use it\n",
      checkpoints.size(), ModelName(average.info.model),
      average.info.progress.global_step, options.out);
  return Json{{"checkpoint", options.out},
              {"checkpoints", checkpoints.size()},
              {"step", average.info.progress.global_step}};
}

int Run(const Options& options, const Environment& env) {
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  const StatusOr<Json> json = Average(options, env);
  if (!json.ok()) {
    return Report(env, kName, json.status(), ExitCodeOf(json.status()));
  }
  status = WriteJsonOption(options.json, *json);
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

}  // namespace

void AddCheckpointAverage(CLI::App& group, const Environment& env,
                          Command* selected) {
  CLI::App* command = group.add_subcommand(
      "average", "the mean of several checkpoints of one network");
  auto o = std::make_shared<Options>();
  command->add_option("files", o->files, "checkpoints, two or more")
      ->type_name("FILE...")
      ->required();
  command->add_option("--out", o->out, "the checkpoint to write")
      ->type_name("FILE")
      ->required();
  AddOption(*command, "--json", o->json,
            "write {\"checkpoint\", \"checkpoints\", \"step\"}", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
