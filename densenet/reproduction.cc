#include "densenet/reproduction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "densenet/console.h"
#include "densenet/data/data_source.h"
#include "densenet/data/published_content.h"
#include "densenet/option_range.h"
#include "densenet/selected_model.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kImageNet = "imagenet";

// What train calls the row's data: ImageNet's photographs are a folder of
// classes, or else records.
std::string DatasetName(const PaperRow& row, const RunOptions& run) {
  if (row.published->dataset != kImageNet) return row.published->dataset;
  std::error_code error;
  const fs::path folder(run.data.value_or(""));
  return fs::is_directory(folder / "train", error) ? "folder" : "records";
}

AugmentKind AugmentOf(const PaperRow& row) {
  if (!row.published->augmented) return AugmentKind::kNone;
  return row.published->dataset == kImageNet ? AugmentKind::kImageNet
                                             : AugmentKind::kCifar;
}

std::string FolderName(const ReproductionOptions& options, uint64_t seed) {
  const std::string scale =
      options.epochs_scale < 1 ? fmt::format("-x{}", options.epochs_scale) : "";
  return fmt::format("{}-{}{}-seed{}", options.preset, options.dataset, scale,
                     seed);
}

// Nothing of the recipe is left to defaults but what ResolveRunConfig takes
// from the paper for the preset.
StatusOr<RunConfig> ResolveRun(const ReproductionOptions& options,
                               const PaperRow& row, uint64_t seed) {
  RunOptions run = options.run;
  run.preset = row.preset->name;
  run.dataset = DatasetName(row, run);
  run.augment = std::string(Name(AugmentOf(row)));
  run.epochs = ScaledEpochs(RecipeOf(row), options.epochs_scale);
  run.seed = seed;
  run.out = (fs::path(*options.run.out) / FolderName(options, seed)).string();
  return ResolveRunConfig(run);
}

Status NoteData(const PaperRow& row, const RunConfig& config,
                std::vector<std::string>* notes) {
  const int64_t classes = PaperClasses(row.published->dataset);
  if (config.model.classes != classes) {
    notes->push_back(fmt::format(
        "these images have {} classes, the paper's have {}: another task",
        config.model.classes, classes));
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> note,
                   NoteUnlikePublished(config.dataset, config.data));
  if (note) notes->push_back(*note);
  return OkStatus();
}

// What the paper reports of a run that is done; nothing when stopped.
StatusOr<std::optional<ReproducedRun>> Judge(const ComparisonOutput& output,
                                             const RunConfig& config,
                                             const RunOutcome& outcome) {
  ReproducedRun run;
  run.seed = config.seed;
  run.folder = config.out;
  run.divergence = outcome.divergence;
  run.training_seconds = outcome.training_seconds();
  if (outcome.divergence) return std::optional<ReproducedRun>(run);
  if (config.validation == 0) {
    run.error_percent = outcome.final_test().error_percent;
    run.best_percent = outcome.best_test().test->error_percent;
    return std::optional<ReproducedRun>(run);
  }
  Console console(output.out, output.terminal);
  ASSIGN_OR_RETURN(const std::optional<Score> selected,
                   TestSelectedModel(config, output.should_stop, console));
  if (!selected) return std::optional<ReproducedRun>();
  run.error_percent = selected->error_percent;
  return std::optional<ReproducedRun>(run);
}

template <typename Field>
std::optional<SampleSummary> SummaryOf(const std::vector<ReproducedRun>& runs,
                                       Field field) {
  std::vector<double> values;
  for (const ReproducedRun& run : runs) {
    if (run.*field) values.push_back(*(run.*field));
  }
  if (values.empty()) return std::nullopt;
  return Summarize(values);
}

}  // namespace

std::string PaperRow::dataset() const {
  const bool plus = published->augmented && published->dataset != kImageNet;
  return published->dataset + (plus ? "+" : "");
}

std::vector<PaperRow> PaperRows() {
  std::vector<PaperRow> rows;
  for (const Preset& preset : Presets()) {
    for (const PublishedResult& result : preset.results) {
      rows.push_back({&preset, &result});
    }
  }
  return rows;
}

StatusOr<PaperRow> FindPaperRow(const std::string& preset,
                                const std::string& dataset) {
  RETURN_IF_ERROR(FindPreset(preset).status());
  std::vector<std::string> known;
  for (const PaperRow& row : PaperRows()) {
    if (row.preset->name != preset) continue;
    if (row.dataset() == dataset) return row;
    known.push_back(row.dataset());
  }
  return NotFound(
      fmt::format("the paper has no result of {} on '{}': it has those on {}",
                  preset, dataset, fmt::join(known, ", ")));
}

Recipe RecipeOf(const PaperRow& row) {
  return *PaperRecipe(row.published->dataset, row.published->augmented);
}

int64_t ScaledEpochs(const Recipe& recipe, double scale) {
  return std::max<int64_t>(
      1, std::llround(static_cast<double>(recipe.epochs) * scale));
}

Status CheckEpochsScale(double scale) {
  if (0 < scale && scale <= 1) return OkStatus();
  return InvalidArgument(
      fmt::format("--epochs-scale {}: expected above 0, at most 1", scale));
}

std::optional<SampleSummary> Reproduction::error() const {
  return SummaryOf(runs, &ReproducedRun::error_percent);
}

std::optional<SampleSummary> Reproduction::best() const {
  return SummaryOf(runs, &ReproducedRun::best_percent);
}

StatusOr<Reproduction> PlanReproduction(const ReproductionOptions& options) {
  RETURN_IF_ERROR(CheckEpochsScale(options.epochs_scale));
  RETURN_IF_ERROR(CheckRange("seeds", options.seeds, 1, kMaxSeeds));
  if (!options.run.out || options.run.out->empty()) {
    return InvalidArgument("--out: name the folder of the runs");
  }
  Reproduction reproduction;
  ASSIGN_OR_RETURN(reproduction.row,
                   FindPaperRow(options.preset, options.dataset));
  reproduction.epochs_scale = options.epochs_scale;
  const uint64_t first = options.run.seed.value_or(RunConfig().seed);
  for (int64_t i = 0; i < options.seeds; ++i) {
    ASSIGN_OR_RETURN(RunConfig config,
                     ResolveRun(options, reproduction.row,
                                first + static_cast<uint64_t>(i)));
    RETURN_IF_ERROR(CheckHoldsRun(config));
    reproduction.configs.push_back(std::move(config));
  }
  return reproduction;
}

Status RunReproduction(const ComparisonOutput& asked,
                       Reproduction* reproduction) {
  const ComparisonOutput output =
      WithTimeLimit(asked, reproduction->configs.front().max_seconds);
  RETURN_IF_ERROR(NoteData(reproduction->row, reproduction->configs.front(),
                           &reproduction->notes));
  for (const RunConfig& config : reproduction->configs) {
    const std::string name =
        fmt::format("{} on {}, seed {}", reproduction->row.preset->name,
                    reproduction->row.dataset(), config.seed);
    ASSIGN_OR_RETURN(const std::optional<RunOutcome> outcome,
                     FinishNamedRun(output, name, config));
    if (!outcome) return OkStatus();
    ASSIGN_OR_RETURN(const std::optional<ReproducedRun> run,
                     Judge(output, config, *outcome));
    if (!run) return OkStatus();
    reproduction->runs.push_back(*run);
  }
  reproduction->finished = true;
  return OkStatus();
}

}  // namespace densenet
