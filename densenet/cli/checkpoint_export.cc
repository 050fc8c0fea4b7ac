#include <fmt/format.h>

#include <memory>

#include "densenet/checkpoint_folder.h"
#include "densenet/cli/checkpoint.h"
#include "densenet/interchange/network_export.h"
#include "densenet/run_folder.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "checkpoint export";
constexpr char kSafetensors[] = "safetensors";
constexpr char kOnnx[] = "onnx";

struct Options {
  std::string checkpoint;
  bool best = false;
  std::string out;
  std::optional<std::string> format;
  std::optional<std::string> json;
};

StatusOr<std::string> FormatOf(const Options& options) {
  if (options.format) return *options.format;
  for (const char* format : {kSafetensors, kOnnx}) {
    if (options.out.ends_with("." + std::string(format))) return format;
  }
  return InvalidArgument(
      fmt::format("--out {}: name it .{} or .{}, or give --format", options.out,
                  kSafetensors, kOnnx));
}

StatusOr<Json> Export(const Options& options, const Environment& env) {
  ASSIGN_OR_RETURN(const std::string format, FormatOf(options));
  RETURN_IF_ERROR(CheckCanWriteFile(options.out));
  std::vector<Status> damaged;
  ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                   OpenCheckpoint(options.checkpoint, options.best, &damaged));
  for (const Status& damage : damaged) {
    Report(env, kName, Annotate(damage, "warning, passed over"), 0);
  }
  const CheckpointInfo& info = checkpoint.info();
  HostMemory memory;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ParameterStore> store,
      ParameterStore::Create(memory, ParameterSpecs(info.model),
                             StatisticsSpecs(info.model), /*slots=*/0));
  RETURN_IF_ERROR(checkpoint.ReadNetwork(*store));
  RETURN_IF_ERROR(format == kOnnx
                      ? ExportOnnx(options.out, info, *store)
                      : ExportSafetensors(options.out, info, *store));
  env.out << fmt::format("{}: {} of step {}, as {} with torchvision's names\n",
                         options.out, ModelName(info.model),
                         info.progress.global_step, format);
  env.out << fmt::format(
      "{} {}\n",
      format == kOnnx ? "takes pixels in [0, 1]; inside they are normalized by"
                      : "takes images that are normalized by",
      ToString(info.data.normalization));
  return Json{{"file", options.out},
              {"format", format},
              {"step", info.progress.global_step},
              {"parameters", ParameterCount(info.model)}};
}

int Run(const Options& options, const Environment& env) {
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  const StatusOr<Json> json = Export(options, env);
  if (!json.ok()) {
    return Report(env, kName, json.status(), ExitCodeOf(json.status()));
  }
  status = WriteJsonOption(options.json, *json);
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

}  // namespace

void AddCheckpointExport(CLI::App& group, const Environment& env,
                         Command* selected) {
  CLI::App* command = group.add_subcommand(
      "export", "a network for PyTorch (safetensors) or as ONNX");
  auto o = std::make_shared<Options>();
  command
      ->add_option("checkpoint", o->checkpoint,
                   "a checkpoint, or a run folder: its newest")
      ->type_name("FILE|DIR")
      ->required();
  command->add_flag("--best", o->best, "the best of the run folder instead");
  command->add_option("--out", o->out, "the file to write")
      ->type_name("FILE")
      ->required();
  AddOption(*command, "--format", o->format, "(by the name of --out)",
            "safetensors|onnx")
      ->check(CLI::IsMember({kSafetensors, kOnnx}));
  AddOption(*command, "--json", o->json,
            "write {\"file\", \"format\", \"step\", \"parameters\"}", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
