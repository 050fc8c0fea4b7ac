#include "densenet/selected_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "core/io/file.h"
#include "densenet/checkpoint_evaluation.h"
#include "densenet/checkpoint_folder.h"
#include "densenet/data/data_source.h"
#include "densenet/json_field.h"
#include "densenet/run_folder.h"
#include "densenet/training_data.h"
#include "memory/host_memory.h"

namespace densenet {
namespace {

std::string ResultPath(const RunConfig& config) {
  return (std::filesystem::path(config.out) / "selected.json").string();
}

// What was measured before of the checkpoint of `step`.
StatusOr<std::optional<Score>> ReadResult(const RunConfig& config,
                                          int64_t step) {
  std::error_code error;
  if (!std::filesystem::exists(ResultPath(config), error)) {
    return std::optional<Score>();
  }
  ASSIGN_OR_RETURN(const Json json, ReadJsonObject(ResultPath(config)));
  const auto read = [&](const char* key, auto* out) {
    return Annotate(ReadField(json, key, out), ResultPath(config));
  };
  int64_t tested = 0;
  RETURN_IF_ERROR(read("step", &tested));
  if (tested != step) return std::optional<Score>();
  Score score;
  RETURN_IF_ERROR(read("test_loss", &score.loss));
  RETURN_IF_ERROR(read("test_error", &score.error_percent));
  if (json.contains("test_top5_error")) {
    RETURN_IF_ERROR(
        read("test_top5_error", &score.top5_error_percent.emplace()));
  }
  return std::optional<Score>(score);
}

StatusOr<std::optional<Evaluation>> EvaluateTest(
    const RunConfig& config, const Checkpoint& checkpoint,
    const std::function<bool()>& should_stop, Console& console) {
  HostMemory memory;
  ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                   Context::Create({.threads = config.threads}));
  std::vector<std::string> notes;
  ASSIGN_OR_RETURN(const std::unique_ptr<ExampleStore> set,
                   OpenData(QueryOf(config), Split::kTest, memory, &notes));
  ASSIGN_OR_RETURN(
      const BatchSource source,
      BatchSource::Create(set.get(), checkpoint.info().data.normalization,
                          EvaluationSourceOptions(config)));
  return EvaluateCheckpoint(
      *context, memory, checkpoint, source, config.prefetch, config.workers,
      config.max_bad, [&](int64_t done, int64_t total) {
        console.Bar(
            fmt::format("testing the selected model {}%", 100 * done / total));
        return !(should_stop && should_stop());
      });
}

}  // namespace

StatusOr<std::optional<Score>> TestSelectedModel(
    const RunConfig& config, const std::function<bool()>& should_stop,
    Console& console) {
  ASSIGN_OR_RETURN(const Checkpoint best,
                   CheckpointFolder(config.out, config.keep).OpenBest());
  const int64_t step = best.info().progress.global_step;
  ASSIGN_OR_RETURN(const std::optional<Score> known, ReadResult(config, step));
  if (known) return known;
  ASSIGN_OR_RETURN(const std::optional<Evaluation> evaluation,
                   EvaluateTest(config, best, should_stop, console));
  console.ClearBar();
  if (!evaluation) return std::optional<Score>();
  const Score& score = evaluation->score;
  Json json = {{"step", step},
               {"test_loss", score.loss},
               {"test_error", score.error_percent}};
  if (score.top5_error_percent) {
    json["test_top5_error"] = *score.top5_error_percent;
  }
  RETURN_IF_ERROR(
      WriteFileAtomically(ResultPath(config), DumpJson(json, 2) + "\n"));
  console.Line(fmt::format(
      "model of the lowest validation error, step {}: test error {:.2f} %",
      step, score.error_percent));
  return std::optional<Score>(score);
}

}  // namespace densenet
