#include "densenet/run_outcome.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <filesystem>

#include "core/io/file.h"
#include "densenet/checkpoint_folder.h"
#include "densenet/continued_run.h"
#include "densenet/divergence.h"
#include "densenet/run_folder.h"

namespace densenet {
namespace {

namespace fs = std::filesystem;

// What Train lets a run go on with, but no result can be compared over.
constexpr std::string_view kLengths[] = {"epochs", "max-steps", "patience"};

std::string PathIn(const RunConfig& config, std::string_view name) {
  return (fs::path(config.out) / name).string();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

StatusOr<std::vector<EpochMetrics>> ReadEpochs(const RunConfig& config) {
  const std::string path = PathIn(config, "metrics.csv");
  if (!Exists(path)) return std::vector<EpochMetrics>();
  return ReadMetricsCsv(path);
}

StatusOr<std::optional<std::string>> ReadDivergence(const RunConfig& config) {
  const std::string path = PathIn(config, "diverged.json");
  if (!Exists(path)) return std::optional<std::string>();
  ASSIGN_OR_RETURN(const Json json, ReadJsonObject(path));
  const auto message = json.find("message");
  if (message == json.end() || !message->is_string()) {
    return DataLoss(fmt::format("{}: expected a \"message\"", path));
  }
  return std::optional<std::string>(message->get<std::string>());
}

Status WriteDivergence(const RunConfig& config, const Status& status) {
  const Json json = {{"message", std::string(StdView(status.message()))}};
  return WriteFileAtomically(PathIn(config, "diverged.json"),
                             DumpJson(json, 2) + "\n");
}

// Whether a checkpoint is that of the run's end.
bool IsEnd(const RunConfig& config, const TrainingProgress& progress) {
  return progress.epoch == config.epochs ||
         (config.max_steps > 0 && progress.global_step == config.max_steps) ||
         (config.patience > 0 && progress.stale_evaluations >= config.patience);
}

}  // namespace

const EpochMetrics& RunOutcome::best_test() const {
  const EpochMetrics* best = nullptr;
  for (const EpochMetrics& epoch : epochs) {
    if (!epoch.test) continue;
    if (best == nullptr ||
        epoch.test->error_percent < best->test->error_percent) {
      best = &epoch;
    }
  }
  CHECK(best != nullptr);
  return *best;
}

double RunOutcome::training_seconds() const {
  double seconds = 0;
  for (const EpochMetrics& epoch : epochs) seconds += epoch.seconds;
  return seconds;
}

Status CheckHoldsRun(const RunConfig& config) {
  const std::string path = PathIn(config, "config.json");
  if (!Exists(path)) return OkStatus();
  ASSIGN_OR_RETURN(const Json then, ReadJsonObject(path));
  RunConfig asked = config;
  TakeChoices(then, asked);
  const Json now = ToJson(asked);
  RETURN_IF_ERROR(CheckSameRun(config.out, then, now));
  for (std::string_view key : kLengths) {
    const std::string name(key);
    const Json before = then.contains(name) ? then[name] : Json(0);
    const Json today = now.contains(name) ? now[name] : Json(0);
    if (before == today) continue;
    return FailedPrecondition(fmt::format(
        "{} holds another run ({}: {} in the run folder, {} now); continue it "
        "with its own options, or give another --out",
        config.out, name, DumpJson(before), DumpJson(today)));
  }
  return OkStatus();
}

StatusOr<std::optional<RunOutcome>> ReadRunOutcome(const RunConfig& config) {
  RETURN_IF_ERROR(CheckHoldsRun(config));
  RunOutcome outcome;
  ASSIGN_OR_RETURN(outcome.epochs, ReadEpochs(config));
  ASSIGN_OR_RETURN(outcome.divergence, ReadDivergence(config));
  if (outcome.divergence) return std::optional<RunOutcome>(std::move(outcome));
  if (outcome.epochs.empty() || !outcome.epochs.back().test) {
    return std::optional<RunOutcome>();
  }
  // The last row is written before its checkpoint.
  ASSIGN_OR_RETURN(const std::optional<CheckpointFolder::Opened> newest,
                   CheckpointFolder(config.out, config.keep).OpenNewest());
  if (!newest) return std::optional<RunOutcome>();
  const TrainingProgress& progress = newest->checkpoint.info().progress;
  if (!IsEnd(config, progress) ||
      outcome.epochs.back().step != progress.global_step) {
    return std::optional<RunOutcome>();
  }
  return std::optional<RunOutcome>(std::move(outcome));
}

StatusOr<std::optional<RunOutcome>> FinishRun(const RunConfig& config,
                                              const TrainHooks& hooks,
                                              Console& console) {
  ASSIGN_OR_RETURN(std::optional<RunOutcome> done, ReadRunOutcome(config));
  if (done) return done;
  const StatusOr<TrainResult> result = Train(config, hooks, console);
  console.ClearBar();
  if (!result.ok()) {
    if (!IsDivergence(result.status())) return result.status();
    RETURN_IF_ERROR(WriteDivergence(config, result.status()));
  } else if (result->stopped) {
    return std::optional<RunOutcome>();
  }
  ASSIGN_OR_RETURN(done, ReadRunOutcome(config));
  if (done) return done;
  return Internal(fmt::format(
      "{}: the run is done, but its metrics.csv does not end where it did",
      config.out));
}

}  // namespace densenet
