#include "densenet/cli/bench_input.h"

#include <fmt/format.h>

#include "densenet/input_benchmark.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "bench";
// Where no network is named it is not used: images alone are measured.
constexpr char kAnyPreset[] = "densenet-bc-100-12";

void Print(std::ostream& out, const RunConfig& config,
           const InputBenchmarkResult& result) {
  out << fmt::format(
      "input   {} images in {:.2f} s: {:.0f} images/s by {} worker{} ({} x {} "
      "x {}, {})\n",
      result.examples, result.seconds, result.images_per_second, result.workers,
      result.workers == 1 ? "" : "s", config.model.image_height,
      config.model.image_width, config.model.image_channels,
      config.augment == AugmentKind::kNone
          ? "not augmented"
          : fmt::format("augmented: {}", Name(config.augment)));
  if (result.wait_share) {
    out << fmt::format(
        "steps   {:.1f} images/s, of a step's time {:.2f}% waits for its "
        "batch\n",
        *result.step_images_per_second, 100 * *result.wait_share);
  }
}

Json ToJson(const InputBenchmarkResult& result) {
  Json json;
  json["images_per_second"] = result.images_per_second;
  json["workers"] = result.workers;
  json["examples"] = result.examples;
  json["seconds"] = result.seconds;
  json["step_images_per_second"] = result.step_images_per_second
                                       ? Json(*result.step_images_per_second)
                                       : Json(nullptr);
  json["wait_share"] =
      result.wait_share ? Json(*result.wait_share) : Json(nullptr);
  return json;
}

}  // namespace

int RunBenchInput(const BenchInputOptions& options, const Environment& env) {
  InputBenchmarkOptions bench;
  RunOptions run = options.run;
  bench.steps = run.names_model() ? options.steps : 0;
  if (!run.names_model()) run.preset = kAnyPreset;
  StatusOr<RunConfig> config = ResolveRunConfig(run);
  if (!config.ok()) return Report(env, kName, config.status(), kExitUsage);
  if (!(options.seconds > 0)) {
    return Report(env, kName,
                  InvalidArgument(fmt::format("--seconds {}: expected over 0",
                                              options.seconds)),
                  kExitUsage);
  }
  bench.config = *config;
  bench.seconds = options.seconds;
  bench.warm_up = options.warm_up;
  bench.should_stop = env.should_stop;
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  const StatusOr<InputBenchmarkResult> result = RunInputBenchmark(bench);
  if (!result.ok()) return Report(env, kName, result.status(), kExitFailed);
  Print(env.out, *config, *result);
  status = WriteJsonOption(options.json, ToJson(*result));
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

}  // namespace densenet::cli
