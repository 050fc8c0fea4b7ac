#include "densenet/input_benchmark.h"

#include <memory>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/context.h"
#include "densenet/data/batch_loader.h"
#include "densenet/training_data.h"
#include "densenet/training_run.h"
#include "memory/host_memory.h"

namespace densenet {
namespace {

constexpr double kWarmUpSeconds = 1;

Status Stopped() { return Unavailable("stopped before the end"); }

bool ShouldStop(const InputBenchmarkOptions& options) {
  return options.should_stop && options.should_stop();
}

// Takes batches until `seconds` are over; returns the seconds it took.
class Taker {
 public:
  Taker(BatchLoader& loader, const InputBenchmarkOptions& options)
      : loader_(loader), options_(options) {}

  StatusOr<double> Take(double seconds, int64_t* examples) {
    *examples = 0;
    const absl::Time start = absl::Now();
    for (;;) {
      ASSIGN_OR_RETURN(const Batch batch, loader_.Get(epoch_, index_));
      *examples += batch.examples();
      if (++index_ == loader_.source().batches()) {
        index_ = 0;
        ++epoch_;
      }
      if (ShouldStop(options_)) return Stopped();
      const double passed = absl::ToDoubleSeconds(absl::Now() - start);
      if (passed >= seconds) return passed;
    }
  }

 private:
  BatchLoader& loader_;
  const InputBenchmarkOptions& options_;
  int64_t epoch_ = 0;
  int64_t index_ = 0;
};

Status MeasurePipeline(const InputBenchmarkOptions& options,
                       InputBenchmarkResult* result) {
  const RunConfig& config = options.config;
  ASSIGN_OR_RETURN(const std::unique_ptr<Context> context,
                   Context::Create({.threads = config.threads}));
  HostMemory memory;
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainingData> data,
                   TrainingData::Load(config, memory));
  const BatchLoader::Options loader_options = {
      .ahead = config.prefetch,
      .workers = LoaderWorkers(config.workers, data->train(),
                               context->threads().threads())};
  ASSIGN_OR_RETURN(const std::unique_ptr<BatchLoader> loader,
                   BatchLoader::Create(&data->train(), loader_options, memory));
  Taker taker(*loader, options);
  RETURN_IF_ERROR(taker.Take(kWarmUpSeconds, &result->examples).status());
  ASSIGN_OR_RETURN(result->seconds,
                   taker.Take(options.seconds, &result->examples));
  result->workers = loader_options.workers;
  result->images_per_second =
      static_cast<double>(result->examples) / result->seconds;
  return OkStatus();
}

Status MeasureSteps(const InputBenchmarkOptions& options,
                    InputBenchmarkResult* result) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainingRun> run,
                   TrainingRun::Create(options.config));
  double seconds = 0, waited = 0;
  int64_t examples = 0;
  for (int64_t i = -options.warm_up; i < options.steps; ++i) {
    if (run->epoch_is_over()) run->FinishEpoch(std::nullopt);
    ASSIGN_OR_RETURN(const TrainingRun::StepResult step, run->TrainStep());
    if (ShouldStop(options)) return Stopped();
    if (i < 0) continue;
    seconds += step.seconds;
    waited += step.wait_seconds;
    examples += step.examples;
  }
  result->step_images_per_second = static_cast<double>(examples) / seconds;
  result->wait_share = waited / seconds;
  return OkStatus();
}

}  // namespace

StatusOr<InputBenchmarkResult> RunInputBenchmark(
    const InputBenchmarkOptions& options) {
  InputBenchmarkResult result;
  RETURN_IF_ERROR(MeasurePipeline(options, &result));
  if (options.steps > 0) RETURN_IF_ERROR(MeasureSteps(options, &result));
  return result;
}

}  // namespace densenet
