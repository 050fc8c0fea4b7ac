#include "densenet/initial_network.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "core/io/digest.h"
#include "core/io/file.h"
#include "densenet/checkpoint_folder.h"

namespace densenet {
namespace {

// Fields of a model configuration that say what its parameters are, and the
// options that set them.
struct Field {
  const char* key;
  const char* option;
};
constexpr Field kFields[] = {
    {"block_config", "--depth or --blocks"},
    {"growth_rate", "--growth"},
    {"bottleneck", "--bottleneck"},
    {"compression", "--compression"},
    {"stem", "--stem"},
    {"stem_channels", "--stem-channels"},
    {"image_channels", "--dataset"},
    {"batch_norm_epsilon", "--bn-epsilon"},
};

StatusOr<Checkpoint> OpenNewest(const std::string& path) {
  std::vector<Status> damaged;
  StatusOr<Checkpoint> checkpoint =
      OpenCheckpoint(path, /*best=*/false, &damaged);
  if (checkpoint.status().code() == StatusCode::kInvalidArgument) {
    return Annotate(checkpoint.status(),
                    "--init-from takes checkpoints; `densenet checkpoint "
                    "import` makes them of other files");
  }
  return checkpoint;
}

}  // namespace

StatusOr<InitialNetwork> DescribeInitialNetwork(const std::string& path) {
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, OpenNewest(path));
  std::error_code error;
  InitialNetwork initial;
  initial.path = std::filesystem::absolute(checkpoint.path(), error)
                     .lexically_normal()
                     .string();
  if (error) return FileError("find", checkpoint.path(), error.value());
  ASSIGN_OR_RETURN(initial.digest, DigestOfFile("sha1", initial.path));
  initial.info = checkpoint.info();
  return initial;
}

Status CheckFits(const InitialNetwork& initial, const ModelConfig& model) {
  const Json theirs = ToJson(initial.info.model);
  const Json ours = ToJson(model);
  for (const Field& field : kFields) {
    if (theirs.at(field.key) == ours.at(field.key)) continue;
    return InvalidArgument(fmt::format(
        "--init-from {}: its {} is {}, that of this run {} ({}): a run starts "
        "only from a network like its own",
        initial.path, field.key, DumpJson(theirs.at(field.key)),
        DumpJson(ours.at(field.key)), field.option));
  }
  return OkStatus();
}

StatusOr<std::string> TakeInitialNetwork(const std::string& path,
                                         const std::string& digest,
                                         const ModelConfig& model,
                                         ParameterStore& store) {
  ASSIGN_OR_RETURN(const InitialNetwork initial, DescribeInitialNetwork(path));
  if (initial.digest != digest) {
    return FailedPrecondition(fmt::format(
        "--init-from {}: the file changed: its digest is {}, that of the run's "
        "configuration {}",
        path, initial.digest, digest));
  }
  RETURN_IF_ERROR(CheckFits(initial, model));
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(initial.path));
  const int64_t classes = initial.info.model.classes;
  const bool same_classes = classes == model.classes;
  RETURN_IF_ERROR(same_classes ? checkpoint.ReadNetwork(store)
                               : checkpoint.ReadFeatures(store));
  return fmt::format(
      "{}, step {}{}; {}", path, initial.info.progress.global_step,
      initial.info.data.dataset.empty() ? ""
                                        : " on " + initial.info.data.dataset,
      same_classes
          ? fmt::format("its classifier of {} classes too", classes)
          : fmt::format("a new classifier of {} classes in place of {}",
                        model.classes, classes));
}

}  // namespace densenet
