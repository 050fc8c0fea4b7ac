#include "densenet/reproduction_estimate.h"

#include <map>
#include <memory>
#include <utility>

#include "core/context.h"
#include "core/cpu/cpu_info.h"
#include "densenet/data/dataset_catalog.h"
#include "densenet/memory_report.h"
#include "densenet/option_range.h"
#include "densenet/step_benchmark.h"
#include "memory/host_memory.h"

namespace densenet {
namespace {

constexpr int64_t kMaxSteps = 1000;
constexpr double kOperationsPerMultiplyAdd = 6;  // of a training step
// A few seconds of a step on two cores.
constexpr double kMeasuredOperations = 4e11;
constexpr double kEvaluationShare = 1.0 / 3;
constexpr double kHour = 3600;

struct Images {
  int64_t train = 0;  // of an epoch
  int64_t evaluated_each_epoch = 0;
  int64_t evaluated_at_end = 0;
};

StatusOr<Images> ImagesOf(const PaperRow& row) {
  Images images;
  if (row.published->dataset == "imagenet") {
    // Not in the catalog, since nobody may hand it out: ILSVRC 2012.
    images.train = 1'281'167;
    images.evaluated_each_epoch = 50'000;
    return images;
  }
  ASSIGN_OR_RETURN(const PublishedDataset published,
                   FindPublished(row.published->dataset));
  const int64_t validation = RecipeOf(row).validation;
  images.train = published.train_images - validation;
  (validation > 0 ? images.evaluated_at_end : images.evaluated_each_epoch) =
      published.test_images;
  images.evaluated_each_epoch += validation;
  return images;
}

// What a step of one image costs, by the strategy that "auto" would take.
struct Measurement {
  Strategy strategy = Strategy::kFused;
  int64_t planned_bytes = 0;
  int64_t batch = 0;
  std::optional<double> image_seconds;
};

StatusOr<Measurement> Measure(const Context& ctx,
                              const EstimateOptions& options,
                              const ModelConfig& model, int64_t batch) {
  Measurement m;
  const int64_t room = options.memory_budget_bytes > 0
                           ? options.memory_budget_bytes
                           : GetCpuInfo().available_bytes;
  bool fits = false;
  for (Strategy strategy : {Strategy::kFused, Strategy::kFeaturesOnly}) {
    ASSIGN_OR_RETURN(const MemoryRow plan,
                     PlanMemory(ctx, model, strategy, batch));
    m.strategy = strategy;
    m.planned_bytes = plan.planned_bytes;
    fits = room == 0 || plan.planned_bytes <= room;
    if (fits) break;
  }
  if (!fits) return m;
  m.batch = MeasuredBatch(model, batch, kMeasuredOperations);
  StepBenchmarkOptions bench;
  bench.model = model;
  bench.batch = m.batch;
  bench.strategies = {m.strategy};
  bench.steps = options.steps;
  bench.warm_up_steps = 1;
  HostMemory memory;
  ASSIGN_OR_RETURN(const std::vector<StepBenchmarkRow> rows,
                   RunStepBenchmark(ctx, memory, bench));
  m.image_seconds = 1 / rows.front().images_per_second;
  return m;
}

// The row's network, with its classes and dropout.
ModelConfig ModelOf(const PaperRow& row) {
  ModelConfig model = row.preset->model;
  model.classes = PaperClasses(row.published->dataset);
  model.dropout = RecipeOf(row).dropout;
  return model;
}

EstimatedRow Estimate(const PaperRow& row, const Measurement& m,
                      const Images& images, double scale) {
  EstimatedRow estimate;
  estimate.row = row;
  estimate.epochs = ScaledEpochs(RecipeOf(row), scale);
  estimate.train_images = images.train;
  estimate.strategy = m.strategy;
  estimate.planned_bytes = m.planned_bytes;
  estimate.image_seconds = m.image_seconds;
  estimate.measured_batch = m.batch;
  if (!m.image_seconds) return estimate;
  const double epochs = static_cast<double>(estimate.epochs);
  const double trained = epochs * static_cast<double>(images.train);
  const double evaluated =
      epochs * static_cast<double>(images.evaluated_each_epoch) +
      static_cast<double>(images.evaluated_at_end);
  estimate.hours =
      (trained + kEvaluationShare * evaluated) * *m.image_seconds / kHour;
  return estimate;
}

}  // namespace

int64_t MeasuredBatch(const ModelConfig& model, int64_t most,
                      double operations) {
  const double image =
      kOperationsPerMultiplyAdd * static_cast<double>(MultiplyAdds(model));
  int64_t batch = 1;
  while (2 * batch <= most &&
         2 * static_cast<double>(batch) * image <= operations) {
    batch *= 2;
  }
  return batch;
}

StatusOr<std::vector<EstimatedRow>> EstimateReproductions(
    const EstimateOptions& options,
    const std::function<bool(const EstimatedRow&)>& done) {
  RETURN_IF_ERROR(CheckEpochsScale(options.epochs_scale));
  RETURN_IF_ERROR(CheckRange("steps", options.steps, 1, kMaxSteps));
  ASSIGN_OR_RETURN(const std::unique_ptr<Context> ctx,
                   Context::Create({.threads = options.threads}));
  std::vector<EstimatedRow> estimates;
  // The rows of a preset differ in the last layer's classes, which cost
  // nothing, and in dropout.
  std::map<std::pair<std::string, bool>, Measurement> measured;
  for (const PaperRow& row : options.rows) {
    ASSIGN_OR_RETURN(const Images images, ImagesOf(row));
    const ModelConfig model = ModelOf(row);
    const auto key = std::pair(row.preset->name, model.dropout > 0);
    auto at = measured.find(key);
    if (at == measured.end()) {
      ASSIGN_OR_RETURN(const Measurement measurement,
                       Measure(*ctx, options, model, RecipeOf(row).batch));
      at = measured.emplace(key, measurement).first;
    }
    estimates.push_back(
        Estimate(row, at->second, images, options.epochs_scale));
    if (done && !done(estimates.back())) break;
  }
  return estimates;
}

}  // namespace densenet
