#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/io/file.h"
#include "core/io/image.h"
#include "core/io/image_cut.h"
#include "densenet/checkpoint_folder.h"
#include "densenet/cli/command.h"
#include "densenet/inference.h"
#include "densenet/training_data.h"
#include "memory/host_memory.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "predict";

struct Options {
  std::string checkpoint;
  bool best = false;
  std::vector<std::string> images;
  int64_t top = 5;
  int threads = 0;
  std::string device = "cpu";
  std::optional<std::string> json;
};

struct Guess {
  int64_t label = 0;
  double probability = 0;
};

// The `top` most probable classes; ties go to the lower label.
std::vector<Guess> MostProbable(absl::Span<const float> logits, int64_t top) {
  const float max = *std::max_element(logits.begin(), logits.end());
  std::vector<Guess> guesses;
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double e = std::exp(static_cast<double>(logits[i]) - max);
    guesses.push_back({static_cast<int64_t>(i), e});
    sum += e;
  }
  for (Guess& guess : guesses) guess.probability /= sum;
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) {
                     return a.probability > b.probability;
                   });
  guesses.resize(std::min(guesses.size(), static_cast<size_t>(top)));
  return guesses;
}

// The file as the network takes it: of its size, gray or RGB, normalized as
// the training images were.
StatusOr<std::vector<float>> LoadInput(const std::string& path,
                                       const ModelConfig& model, double margin,
                                       const PixelTable& table) {
  ASSIGN_OR_RETURN(const std::string file, ReadFile(path, kMaxImageFileBytes));
  Image image{.height = model.image_height,
              .width = model.image_width,
              .pixels = std::vector<uint8_t>(static_cast<size_t>(
                  model.image_height * model.image_width * 3))};
  ImageCutter cutter;
  RETURN_IF_ERROR(cutter.Decode(
      file, path,
      [&](int64_t height, int64_t width) {
        return CenterCut(height, width, model.image_height, model.image_width,
                         margin);
      },
      image.pixels.data()));
  const std::vector<uint8_t> pixels =
      model.image_channels == 1 ? ToGray(image) : image.pixels;
  std::vector<float> input(pixels.size());
  table.Normalize(pixels.data(), model.image_height * model.image_width,
                  input.data());
  return input;
}

StatusOr<std::vector<Guess>> Predict(const std::string& path,
                                     const ModelConfig& model, double margin,
                                     const PixelTable& table, int64_t top,
                                     Network& network) {
  ASSIGN_OR_RETURN(const std::vector<float> input,
                   LoadInput(path, model, margin, table));
  const ConstTensorView view(
      input.data(), DType::kFloat32,
      Shape{1, model.image_height, model.image_width, model.image_channels});
  RETURN_IF_ERROR(network.Evaluate(view, {}).status());
  return MostProbable(
      absl::MakeConstSpan(network.logits().data<float>(), model.classes), top);
}

Json ToJson(const std::string& path, const std::vector<Guess>& guesses,
            const std::vector<std::string>& names) {
  Json classes = Json::array();
  for (const Guess& guess : guesses) {
    classes.push_back({{"class", names[guess.label]},
                       {"label", guess.label},
                       {"probability", guess.probability}});
  }
  return {{"file", path}, {"classes", std::move(classes)}};
}

void Print(const std::string& path, const std::vector<Guess>& guesses,
           const std::vector<std::string>& names, std::ostream& out) {
  out << path << '\n';
  for (const Guess& guess : guesses) {
    out << fmt::format("  {:6.2f}%  {}\n", 100 * guess.probability,
                       names[guess.label]);
  }
}

// All images, in turn. A bad one is reported and the others still done:
// `failed` counts them.
StatusOr<Json> PredictAll(const Options& options, const Checkpoint& checkpoint,
                          const Environment& env, int64_t* failed) {
  const CheckpointInfo& info = checkpoint.info();
  const std::vector<std::string>& names = info.data.class_names;
  ASSIGN_OR_RETURN(const PixelTable table,
                   PixelTable::Create(info.data.normalization));
  ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                   Context::Create({.threads = options.threads}));
  HostMemory memory;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Inference> inference,
      Inference::Create(*context, memory, checkpoint, /*max_batch=*/1));
  // As the run itself evaluated.
  const auto augment = info.run.find("augment");
  RunConfig config;
  if (augment != info.run.end() && augment->is_string()) {
    ASSIGN_OR_RETURN(config.augment,
                     ParseAugmentKind(augment->get<std::string>()));
  }
  const double margin = EvaluationSourceOptions(config).center_margin;
  Json rows = Json::array();
  for (const std::string& path : options.images) {
    if (env.should_stop && env.should_stop()) {
      return Unavailable("stopped before the last image");
    }
    StatusOr<std::vector<Guess>> guesses = Predict(
        path, info.model, margin, table, options.top, inference->network());
    if (guesses.ok()) {
      Print(path, *guesses, names, env.out);
      rows.push_back(ToJson(path, *guesses, names));
    } else {
      ++*failed;
      Report(env, kName, guesses.status(), kExitFailed);
      rows.push_back(
          {{"file", path}, {"error", StdView(guesses.status().message())}});
    }
  }
  return Json{{"rows", std::move(rows)}};
}

int Run(const Options& options, const Environment& env) {
  StatusOr<std::string> device = ResolveDevice(options.device, kName, env);
  if (!device.ok())
    return Report(env, kName, device.status(), ExitCodeOf(device.status()));
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  std::vector<Status> damaged;
  StatusOr<Checkpoint> checkpoint =
      OpenCheckpoint(options.checkpoint, options.best, &damaged);
  if (!checkpoint.ok()) {
    return Report(env, kName, checkpoint.status(), kExitFailed);
  }
  for (const Status& damage : damaged) {
    Report(env, kName, Annotate(damage, "warning, passed over"), 0);
  }
  int64_t failed = 0;
  StatusOr<Json> rows = PredictAll(options, *checkpoint, env, &failed);
  if (!rows.ok()) return Report(env, kName, rows.status(), kExitFailed);
  status = WriteJsonOption(options.json, *rows);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  return failed == 0 ? kExitDone : kExitFailed;
}

}  // namespace

void AddPredictCommand(CLI::App& app, const Environment& env,
                       Command* selected) {
  CLI::App* command = app.add_subcommand(
      kName, "classify image files (JPEG, PNG) with a trained model");
  auto o = std::make_shared<Options>();
  command
      ->add_option("--checkpoint", o->checkpoint,
                   "a checkpoint, or a run folder: its newest")
      ->type_name("FILE|DIR")
      ->required();
  command->add_flag("--best", o->best, "the best of the run folder instead");
  command->add_option("images", o->images, "what to classify")
      ->type_name("IMAGE...")
      ->required();
  command->add_option("--top", o->top, "classes to print (5)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  command->add_option("--threads", o->threads, "(0: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  command->add_option("--device", o->device, "cpu or auto (cpu)")
      ->type_name("DEVICE");
  AddOption(*command, "--json", o->json, "write {\"rows\": [...]}", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
