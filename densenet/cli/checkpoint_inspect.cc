#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "densenet/checkpoint_folder.h"
#include "densenet/cli/checkpoint.h"
#include "densenet/interchange/tensor_file.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "checkpoint inspect";

struct Options {
  std::string file;
  std::optional<std::string> json;
};

// The 2-norm, or of a tensor without shape the value; nothing for a type that
// has none here.
StatusOr<std::optional<double>> NormOf(TensorFile& file, size_t index) {
  double squares = 0;
  double last = 0;
  const Status status =
      file.ForEachPiece(index, [&](absl::Span<const double> piece) {
        for (double value : piece) squares += value * value;
        last = piece.back();
      });
  if (status.code() == StatusCode::kUnimplemented) {
    return std::optional<double>();
  }
  RETURN_IF_ERROR(status);
  const bool scalar = file.tensors()[index].shape.empty();
  return std::optional(scalar ? last : std::sqrt(squares));
}

StatusOr<Json> PrintTensors(TensorFile& file, const Environment& env) {
  size_t width = 0;
  int64_t elems = 0;
  for (const StoredTensor& tensor : file.tensors()) {
    width = std::max(width, tensor.full_name().size());
    elems += tensor.elems();
  }
  env.out << fmt::format("{}: {}, {} tensors, {} elements\n", file.path(),
                         file.format(), file.tensors().size(),
                         GroupDigits(elems));
  Json rows = Json::array();
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    if (env.should_stop && env.should_stop()) {
      return Unavailable("stopped before the last tensor");
    }
    const StoredTensor& tensor = file.tensors()[i];
    ASSIGN_OR_RETURN(const std::optional<double> norm, NormOf(file, i));
    const char* what = tensor.shape.empty() ? "value" : "norm";
    env.out << fmt::format("  {:<{}}  {:<22}  {}\n", tensor.full_name(), width,
                           tensor.ToString(),
                           norm ? fmt::format("{} {:.7g}", what, *norm) : "");
    Json row = {{"name", tensor.full_name()},
                {"dtype", tensor.dtype},
                {"shape", tensor.shape}};
    if (norm) row[what] = *norm;
    rows.push_back(std::move(row));
  }
  return Json{{"file", file.path()},
              {"format", file.format()},
              {"elements", elems},
              {"metadata", file.values()},
              {"rows", std::move(rows)}};
}

void PrintValues(const TensorFile& file, const Environment& env) {
  constexpr size_t kMaxText = 400;
  for (const auto& [key, text] : file.values()) {
    env.out << fmt::format(
        "  {:<16}  {}\n", key,
        text.size() > kMaxText ? fmt::format("{} bytes", text.size()) : text);
  }
}

Json PrintCheckpoint(const CheckpointInfo& info, const Environment& env) {
  const TrainingProgress& progress = info.progress;
  env.out << fmt::format(
      "checkpoint of {}: {} parameters, {} classes, images of {} x {} x {}\n",
      ModelName(info.model), GroupDigits(ParameterCount(info.model)),
      info.model.classes, info.model.image_height, info.model.image_width,
      info.model.image_channels);
  env.out << fmt::format(
      "  step {}, {} epochs done{}\n", progress.global_step, progress.epoch,
      progress.best_step < 0
          ? ""
          : fmt::format(", best error {:.2f}% at step {}", progress.best_error,
                        progress.best_step));
  env.out << fmt::format(
      "  data set {}, {} training images; {}\n",
      info.data.dataset.empty() ? "not named" : info.data.dataset,
      info.data.train_examples, ToString(info.data.normalization));
  Json json = {{"model", densenet::ToJson(info.model)},
               {"step", progress.global_step},
               {"epoch", progress.epoch},
               {"dataset", info.data.dataset},
               {"classes", info.data.class_names},
               {"mean", info.data.normalization.mean},
               {"std", info.data.normalization.std},
               {"run", info.run}};
  if (progress.best_step >= 0) {
    json["best_error_percent"] = progress.best_error;
    json["best_step"] = progress.best_step;
  }
  return json;
}

StatusOr<Json> Inspect(const Options& options, const Environment& env) {
  std::string path = options.file;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    std::vector<Status> damaged;
    ASSIGN_OR_RETURN(const Checkpoint newest,
                     OpenCheckpoint(path, /*best=*/false, &damaged));
    for (const Status& damage : damaged) {
      Report(env, kName, Annotate(damage, "warning, passed over"), 0);
    }
    path = newest.path();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<TensorFile> file,
                   TensorFile::Open(path));
  ASSIGN_OR_RETURN(Json json, PrintTensors(*file, env));
  if (!IsCheckpoint(*file)) {
    PrintValues(*file, env);
    return json;
  }
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(path));
  json["checkpoint"] = PrintCheckpoint(checkpoint.info(), env);
  return json;
}

int Run(const Options& options, const Environment& env) {
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  const StatusOr<Json> json = Inspect(options, env);
  if (!json.ok()) return Report(env, kName, json.status(), kExitFailed);
  status = WriteJsonOption(options.json, *json);
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

}  // namespace

void AddCheckpointInspect(CLI::App& group, const Environment& env,
                          Command* selected) {
  CLI::App* command = group.add_subcommand(
      "inspect", "the tensors of a safetensors file or one of torch.save");
  auto o = std::make_shared<Options>();
  command->add_option("file", o->file, "a file, or a run folder: its newest")
      ->type_name("FILE|DIR")
      ->required();
  AddOption(*command, "--json", o->json,
            "write {\"rows\": [{\"name\", \"dtype\", \"shape\", \"norm\"}], "
            "...}",
            "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
