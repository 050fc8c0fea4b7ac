#include "densenet/continued_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "absl/strings/str_join.h"
#include "densenet/metrics_csv.h"

namespace densenet {
namespace {

// Of a config.json; nothing if it says "auto" or what we do not know.
std::optional<Strategy> StrategyOf(const Json& run) {
  auto it = run.find("strategy");
  if (it == run.end() || !it->is_string()) return std::nullopt;
  const StatusOr<Strategy> strategy = ParseStrategy(it->get<std::string>());
  return strategy.ok() ? std::optional(*strategy) : std::nullopt;
}

int64_t EpochsOf(const Json& run) {
  auto it = run.find("epochs");
  return it != run.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
}

}  // namespace

Status CheckSameRun(const std::string& folder, const Json& then,
                    const Json& now) {
  const std::vector<std::string> differences = DifferencesFrom(then, now);
  if (differences.empty()) return OkStatus();
  return FailedPrecondition(fmt::format(
      "{} holds another run ({}); continue it with its own options, or give "
      "another --out",
      folder, absl::StrJoin(differences, "; ")));
}

Status CheckContinues(const RunConfig& config, const Checkpoint& checkpoint) {
  const CheckpointInfo& info = checkpoint.info();
  if (!(info.model == config.model)) {
    return FailedPrecondition(fmt::format(
        "{} holds another model ({}, with {} parameters) than the "
        "one asked for ({}, {}); give another --out",
        checkpoint.path(), ModelName(info.model), ParameterCount(info.model),
        ModelName(config.model), ParameterCount(config.model)));
  }
  const TrainingProgress& p = info.progress;
  if (p.epoch > config.epochs || (p.epoch == config.epochs && p.batch > 0)) {
    return FailedPrecondition(fmt::format(
        "{}: the run is in epoch {}; --epochs {} cannot undo that",
        checkpoint.path(), p.epoch + (p.batch > 0 ? 1 : 0), config.epochs));
  }
  if (config.max_steps > 0 && p.global_step > config.max_steps) {
    return FailedPrecondition(fmt::format(
        "{}: the run has done {} steps; --max-steps {} cannot undo that",
        checkpoint.path(), p.global_step, config.max_steps));
  }
  return OkStatus();
}

std::vector<std::string> TakeChoices(const Json& run, RunConfig& config) {
  std::vector<std::string> lines;
  if (!config.strategy) {
    config.strategy = StrategyOf(run);
    if (config.strategy) {
      lines.push_back(fmt::format("strategy {}: as when this run began",
                                  Name(*config.strategy)));
    }
  }
  auto batch = run.find("batch");
  if (config.batch == kAutoBatch && batch != run.end() &&
      batch->is_number_integer()) {
    config.batch = batch->get<int64_t>();
    lines.push_back(
        fmt::format("batch {}: as when this run began", config.batch));
  }
  return lines;
}

Status CheckNothingIsLost(const RunFolder& folder) {
  const CheckpointFolder best(
      (std::filesystem::path(folder.path()) / "best").string(), 1);
  size_t rows = 0;
  std::error_code error;
  if (std::filesystem::exists(folder.metrics_path(), error)) {
    ASSIGN_OR_RETURN(const std::vector<EpochMetrics> metrics,
                     ReadMetricsCsv(folder.metrics_path()));
    rows = metrics.size();
  }
  if (best.List().empty() && rows < 2) return OkStatus();
  return FailedPrecondition(fmt::format(
      "{} has lost its checkpoints: metrics.csv tells of {} epochs. Copy one "
      "back (best/ may hold one) to go on from it, or give another --out",
      folder.path(), rows));
}

Status Resume(const CheckpointFolder::Opened& opened, const Json& then,
              const TrainingRun& run, const CheckpointFolder& checkpoints,
              Console& console) {
  const RunConfig& config = run.config();
  const TrainingProgress& p = opened.checkpoint.info().progress;
  for (const Status& damage : opened.damaged) {
    console.Line(fmt::format("warning: {}; set aside, using the one before it",
                             StdView(damage.message())));
  }
  RETURN_IF_ERROR(checkpoints.SetAsideAfter(p.global_step));
  RETURN_IF_ERROR(checkpoints.MarkBest(p.best_step));
  const bool cut_short =
      run.all_steps_done() && p.batch != run.steps_per_epoch();
  if (run.finished() || cut_short) {
    console.Line(fmt::format(
        "this run is finished ({} epochs, {} steps): evaluating it again. "
        "More --{} would continue it",
        p.epoch, p.global_step,
        run.ended_early()          ? "patience"
        : p.epoch == config.epochs ? "epochs"
                                   : "max-steps"));
    return OkStatus();
  }
  console.Line(fmt::format("resuming at step {} (epoch {}) from {}",
                           p.global_step, p.epoch + 1,
                           opened.checkpoint.path()));
  const std::optional<Strategy> strategy = StrategyOf(then);
  if (strategy && TraitsOf(*strategy).defers_correction !=
                      TraitsOf(*config.strategy).defers_correction) {
    console.Line(fmt::format(
        "strategy {} instead of {}: gradients are summed in another order, so "
        "the result differs in its last bits",
        Name(*config.strategy), Name(*strategy)));
  }
  if (EpochsOf(then) != 0 && EpochsOf(then) != config.epochs) {
    console.Line(fmt::format(
        "{} epochs instead of {}: the learning rate follows the new total",
        config.epochs, EpochsOf(then)));
  }
  return OkStatus();
}

}  // namespace densenet
