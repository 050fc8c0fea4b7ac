#include "densenet/presets.h"

#include <fmt/format.h>

#include <memory>

#include "densenet/cli/command.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "presets";

const PublishedResult* FindResult(const Preset& preset,
                                  std::string_view dataset, bool augmented) {
  for (const PublishedResult& result : preset.results) {
    if (result.dataset == dataset && result.augmented == augmented) {
      return &result;
    }
  }
  return nullptr;
}

std::string Percent(const std::optional<double>& percent) {
  return percent ? fmt::format("{:.2f}", *percent) : "-";
}

std::string Cell(const Preset& preset, std::string_view dataset,
                 bool augmented) {
  const PublishedResult* result = FindResult(preset, dataset, augmented);
  return Percent(result ? std::optional<double>(result->error_percent)
                        : std::nullopt);
}

std::string Count(const Preset& preset, std::string_view dataset) {
  return GroupDigits(PresetParameterCount(preset, PaperClasses(dataset)));
}

void PrintTables(std::ostream& out) {
  out << fmt::format("{:<20} {:>12} {:>12} {:>6} {:>6} {:>6} {:>6} {:>6}\n",
                     "Test error, %", "parameters", "parameters", "", "", "",
                     "", "");
  out << fmt::format("{:<20} {:>12} {:>12} {:>6} {:>6} {:>6} {:>6} {:>6}\n",
                     "preset", "10 classes", "100 classes", "C10", "C10+",
                     "C100", "C100+", "SVHN");
  for (const Preset& preset : Presets()) {
    if (preset.model.stem != Stem::kCifar) continue;
    out << fmt::format(
        "{:<20} {:>12} {:>12} {:>6} {:>6} {:>6} {:>6} {:>6}\n", preset.name,
        Count(preset, "cifar10"), Count(preset, "cifar100"),
        Cell(preset, "cifar10", false), Cell(preset, "cifar10", true),
        Cell(preset, "cifar100", false), Cell(preset, "cifar100", true),
        Cell(preset, "svhn", false));
  }
  out << "\nC10 = CIFAR-10, C100 = CIFAR-100, + = augmented (--augment "
         "cifar).\n\n";
  out << fmt::format("{:<20} {:>12} {:>17} {:>17}\n", "ImageNet error, %",
                     "parameters", "1-crop top-1/5", "10-crop top-1/5");
  for (const Preset& preset : Presets()) {
    const PublishedResult* result = FindResult(preset, "imagenet", true);
    if (result == nullptr) continue;
    auto pair = [](const std::optional<double>& a,
                   const std::optional<double>& b) {
      return Percent(a) + " / " + Percent(b);
    };
    out << fmt::format(
        "{:<20} {:>12} {:>17} {:>17}\n", preset.name, Count(preset, "imagenet"),
        pair(result->error_percent, result->top5_percent),
        pair(result->ten_crop_percent, result->ten_crop_top5_percent));
  }
  out << "\nRecipe: Nesterov momentum 0.9, weight decay 1e-4 on all "
         "parameters, learning rate 0.1.\n"
         "  CIFAR     300 epochs, batch 64, rate / 10 at 50 % and 75 %; "
         "dropout 0.2 where not augmented\n"
         "  SVHN      40 epochs, batch 64, rate / 10 at 50 % and 75 %; dropout "
         "0.2\n"
         "  ImageNet  90 epochs, batch 256, rate / 10 at epochs 30 and 60\n"
         "densenet train --preset NAME --dataset cifar10 starts from it; "
         "options you give win.\n";
}

Json Rows() {
  Json rows = Json::array();
  for (const Preset& preset : Presets()) {
    for (const PublishedResult& result : preset.results) {
      rows.push_back({{"name", preset.name},
                      {"dataset", result.dataset},
                      {"augmented", result.augmented},
                      {"params", PresetParameterCount(
                                     preset, PaperClasses(result.dataset))},
                      {"error", result.error_percent}});
    }
  }
  return Json{{"rows", std::move(rows)}};
}

}  // namespace

void AddPresetsCommand(CLI::App& app, const Environment& env,
                       Command* selected) {
  CLI::App* command = app.add_subcommand(
      kName, "the paper's rows: parameter counts, published errors, recipe");
  auto json = std::make_shared<std::optional<std::string>>();
  AddOption(*command, "--json", *json,
            "write {\"rows\": [...]}, one for each published error", "FILE");
  command->callback([&env, selected, json] {
    *selected = [&env, json]() -> int {
      Status status = CheckJsonOption(*json);
      if (status.ok()) {
        PrintTables(env.out);
        status = WriteJsonOption(*json, Rows());
      }
      return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
    };
  });
}

}  // namespace densenet::cli
