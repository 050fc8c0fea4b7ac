#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/io/digest.h"
#include "core/io/file.h"
#include "densenet/checkpoint.h"
#include "densenet/cli/checkpoint.h"
#include "densenet/cli/train_options.h"
#include "densenet/data/class_names.h"
#include "densenet/data/data_source.h"
#include "densenet/interchange/network_import.h"
#include "densenet/interchange/tensor_file.h"
#include "densenet/run_folder.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "checkpoint import";

struct Options {
  std::string file;
  std::string out;
  RunOptions run;  // its model options, data set and folder
  std::optional<int64_t> image_size;
  std::optional<int64_t> classes;
  std::optional<std::string> class_names;
  std::optional<std::string> mean;
  std::optional<std::string> deviation;
  std::optional<std::string> key;
  std::optional<std::string> json;
};

// "0.5,0.5,0.5", or one for all channels.
StatusOr<std::vector<double>> ParseChannels(std::string_view option,
                                            const std::string& text,
                                            int64_t channels) {
  std::vector<double> values;
  const auto error = [&](std::string_view why) {
    return InvalidArgument(fmt::format(
        "--{} {}: expected {} numbers in [0, 1], of pixels divided by 255, as "
        "torchvision's Normalize takes them{}",
        option, text, channels, why));
  };
  for (absl::string_view field : absl::StrSplit(text, ',')) {
    double value = 0;
    if (!absl::SimpleAtod(field, &value)) return error("");
    if (1 < value && value <= 255) {
      return error(fmt::format("; if {} is of pixels up to 255, that is {:.4f}",
                               value, value / 255));
    }
    if (!(0 <= value && value <= 1)) return error("");
    values.push_back(value);
  }
  if (values.size() == 1) {
    values.resize(static_cast<size_t>(channels), values[0]);
  }
  if (static_cast<int64_t>(values.size()) != channels) return error("");
  return values;
}

StatusOr<Normalization> ResolveNormalization(const Options& options,
                                             int64_t channels) {
  if (!options.mean || !options.deviation) {
    return InvalidArgument(
        "what were the images normalized with when the network was trained? "
        "Give --mean and --std, of pixels divided by 255, as torchvision's "
        "Normalize takes them");
  }
  Normalization normalization;
  ASSIGN_OR_RETURN(normalization.mean,
                   ParseChannels("mean", *options.mean, channels));
  ASSIGN_OR_RETURN(normalization.std,
                   ParseChannels("std", *options.deviation, channels));
  RETURN_IF_ERROR(PixelTable::Create(normalization).status());
  return normalization;
}

// What the images are, of a data set or as the options say.
StatusOr<ImageDatasetInfo> ResolveImages(const Options& options,
                                         const ModelConfig& model) {
  const bool image_net = model.stem == Stem::kImageNet;
  ImageDatasetInfo images;
  if (options.run.dataset) {
    if (options.classes || options.class_names) {
      return InvalidArgument(
          "--classes and --class-names go without --dataset, which says what "
          "the classes are");
    }
    ASSIGN_OR_RETURN(images,
                     DescribeData({.dataset = *options.run.dataset,
                                   .folder = options.run.data.value_or("")}));
  } else {
    images.channels = 3;
    if (options.class_names) {
      ASSIGN_OR_RETURN(images.class_names,
                       ReadClassNames(*options.class_names));
    }
    const auto named = static_cast<int64_t>(images.class_names.size());
    const int64_t classes = options.classes.value_or(named > 0   ? named
                                                     : image_net ? 1000
                                                                 : 10);
    if (named > 0 && named != classes) {
      return InvalidArgument(fmt::format("--classes {}: {} has {} names",
                                         classes, *options.class_names, named));
    }
    for (int64_t i = named; i < classes; ++i) {
      images.class_names.push_back(std::to_string(i));
    }
  }
  if (options.image_size || images.height == 0) {
    images.height = options.image_size.value_or(image_net ? 224 : 32);
    images.width = images.height;
  }
  return images;
}

// What evaluation reads of a run's options, and where the network is from.
StatusOr<Json> DescribeRun(const Options& options, const CheckpointInfo& info) {
  Json run;
  run["imported-from"] =
      std::filesystem::path(options.file).filename().string();
  ASSIGN_OR_RETURN(run["imported-digest"], DigestOfFile("sha1", options.file));
  const bool photos =
      info.model.stem == Stem::kImageNet || IsStreamed(info.data.dataset);
  run["augment"] = Name(photos ? AugmentKind::kImageNet : AugmentKind::kNone);
  if (options.image_size) run["image-size"] = *options.image_size;
  return run;
}

// Of a file that says nothing of the network but its tensors.
StatusOr<CheckpointInfo> ResolveOptions(const Options& options) {
  CheckpointInfo info;
  ModelConfig& model = info.model;
  ASSIGN_OR_RETURN(model, ResolveModel(options.run));
  ASSIGN_OR_RETURN(const ImageDatasetInfo images,
                   ResolveImages(options, model));
  model.image_height = images.height;
  model.image_width = images.width;
  model.image_channels = images.channels;
  model.classes = images.classes();
  model.dropout = options.run.dropout.value_or(0);
  RETURN_IF_ERROR(ValidateModelConfig(model));
  ASSIGN_OR_RETURN(info.data.normalization,
                   ResolveNormalization(options, model.image_channels));
  info.data.dataset = options.run.dataset.value_or("");
  info.data.class_names = images.class_names;
  return info;
}

// Of one that `checkpoint export` wrote.
StatusOr<CheckpointInfo> ReadDescription(const Options& options,
                                         const TensorFile& file) {
  if (options.run.dataset || options.mean || options.deviation ||
      options.classes || options.class_names || options.image_size) {
    return InvalidArgument(fmt::format(
        "{} says itself what network and images it is for; name a network to "
        "say otherwise",
        file.path()));
  }
  CheckpointInfo info;
  const auto parse = [&](const char* key) {
    const auto found = file.values().find(key);
    return found == file.values().end()
               ? Json()
               : Json::parse(found->second, nullptr,
                             /*allow_exceptions=*/false);
  };
  StatusOr<ModelConfig> model = ModelConfigFromJson(parse(kModelMetadata));
  if (!model.ok()) return Annotate(model.status(), file.path());
  StatusOr<DataDescription> data =
      DataDescriptionFromJson(parse(kDataMetadata));
  if (!data.ok()) return Annotate(data.status(), file.path());
  info.model = *std::move(model);
  info.data = *std::move(data);
  return info;
}

StatusOr<CheckpointInfo> Resolve(const Options& options,
                                 const TensorFile& file) {
  if (IsCheckpoint(file)) {
    return InvalidArgument(fmt::format(
        "{} is a checkpoint already: eval, predict and export take it as it is",
        file.path()));
  }
  const bool described =
      !options.run.names_model() && file.values().count(kModelMetadata) > 0;
  ASSIGN_OR_RETURN(CheckpointInfo info, described
                                            ? ReadDescription(options, file)
                                            : ResolveOptions(options));
  ASSIGN_OR_RETURN(info.run, DescribeRun(options, info));
  return info;
}

Json ToJson(const ImportReport& report) {
  return {{"naming", report.naming},   {"container", report.container},
          {"missing", report.missing}, {"other_shape", report.other_shape},
          {"unused", report.unused},   {"converted", report.converted}};
}

// Counters that PyTorch's batch norm keeps, once for all of them.
std::vector<std::string> WithoutCounters(const std::vector<std::string>& names,
                                         int64_t* counters) {
  std::vector<std::string> others;
  for (const std::string& name : names) {
    if (name.ends_with("num_batches_tracked")) {
      ++*counters;
    } else {
      others.push_back(name);
    }
  }
  return others;
}

void Print(const TensorFile& file, const CheckpointInfo& info,
           const ImportReport& report, const Environment& env) {
  env.out << fmt::format(
      "{}: {}, names as {}'s{}\n", file.path(), file.format(), report.naming,
      report.container.empty() ? "" : ", in " + report.container);
  env.out << fmt::format(
      "network: {}, {} parameters, {} classes\n", ModelName(info.model),
      GroupDigits(ParameterCount(info.model)), info.model.classes);
  env.out << "images are normalized by " << ToString(info.data.normalization)
          << '\n';
  for (const auto& [dtype, count] : report.converted) {
    env.out << fmt::format("rounded to float32: {} tensors of type {}\n", count,
                           dtype);
  }
  int64_t counters = 0;
  const std::vector<std::string> unused =
      WithoutCounters(report.unused, &counters);
  if (counters > 0) {
    env.out << fmt::format(
        "not used: {} num_batches_tracked, counters that batch norm with "
        "momentum has no use for\n",
        counters);
  }
  PrintList("not used", unused, env);
  PrintList("missing", report.missing, env);
  PrintList("of another shape", report.other_shape, env);
}

StatusOr<Json> Import(const Options& options, const Environment& env) {
  RETURN_IF_ERROR(CheckCanWriteFile(options.out));
  ASSIGN_OR_RETURN(const std::unique_ptr<TensorFile> file,
                   TensorFile::Open(options.file));
  ASSIGN_OR_RETURN(const CheckpointInfo info, Resolve(options, *file));
  HostMemory memory;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ParameterStore> store,
      ParameterStore::Create(memory, ParameterSpecs(info.model),
                             StatisticsSpecs(info.model), /*slots=*/0));
  ASSIGN_OR_RETURN(const ImportReport report,
                   ImportNetwork(*file, info.model, options.key, *store));
  Print(*file, info, report, env);
  Json json = ToJson(report);
  if (!report.complete()) {
    RETURN_IF_ERROR(WriteJsonOption(options.json, json));
    return DataLoss(fmt::format(
        "{}: of {}, {} tensors are missing and {} have another shape; nothing "
        "was written",
        options.file, ModelName(info.model), report.missing.size(),
        report.other_shape.size()));
  }
  RETURN_IF_ERROR(SaveCheckpoint(options.out, info, *store, {}));
  env.out << "written to " << options.out << '\n';
  json["checkpoint"] = options.out;
  return json;
}

int Run(const Options& options, const Environment& env) {
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  const StatusOr<Json> json = Import(options, env);
  if (!json.ok()) {
    return Report(env, kName, json.status(), ExitCodeOf(json.status()));
  }
  status = WriteJsonOption(options.json, *json);
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

void AddDataOptions(CLI::App& command, Options& o) {
  constexpr char kGroup[] = "Images";
  AddOption(command, "--dataset", o.run.dataset,
            "what they are: its classes and their size", "NAME")
      ->group(kGroup);
  AddOption(command, "--data", o.run.data,
            "folder of its files, where its classes are those of the files",
            "DIR")
      ->group(kGroup);
  AddOption(command, "--classes", o.classes,
            "without --dataset (10; with the ImageNet stem 1000)", "N")
      ->group(kGroup);
  AddOption(command, "--class-names", o.class_names,
            "without --dataset: their names, one a line (0, 1, ...)", "FILE")
      ->group(kGroup);
  AddOption(command, "--image-size", o.image_size,
            "pixels of a side (the data set's; 32, with the ImageNet stem 224)",
            "N")
      ->group(kGroup);
  AddOption(command, "--mean", o.mean,
            "what was subtracted from pixels divided by 255, per channel",
            "M,M,M")
      ->group(kGroup);
  AddOption(command, "--std", o.deviation, "and what they were divided by then",
            "S,S,S")
      ->group(kGroup);
}

}  // namespace

void AddCheckpointImport(CLI::App& group, const Environment& env,
                         Command* selected) {
  CLI::App* command = group.add_subcommand(
      "import", "a checkpoint from a safetensors or PyTorch file");
  auto o = std::make_shared<Options>();
  command->add_option("file", o->file, "safetensors, .pth, .pt or .pth.tar")
      ->type_name("FILE")
      ->required();
  AddModelOptions(*command, o->run);
  AddDataOptions(*command, *o);
  AddOption(*command, "--key", o->key,
            "which of several networks in the file: state_dict", "NAME");
  command->add_option("--out", o->out, "the checkpoint to write")
      ->type_name("FILE")
      ->required();
  AddOption(*command, "--json", o->json,
            "write {\"naming\", \"missing\", \"unused\", ...}", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
