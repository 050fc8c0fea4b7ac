#include "densenet/training_run.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "densenet/class_weights.h"
#include "densenet/divergence.h"
#include "densenet/initial_network.h"

namespace densenet {
namespace {

absl::Span<const int32_t> Labels(const Batch& batch) {
  return absl::MakeConstSpan(batch.labels.data<int32_t>(),
                             batch.labels.elems());
}

bool AllFinite(absl::Span<const float> values) {
  return std::all_of(values.begin(), values.end(),
                     [](float v) { return std::isfinite(v); });
}

}  // namespace

StatusOr<int64_t> StepsPerEpoch(const ModelConfig& model,
                                const BatchSource& source) {
  const int64_t last_block =
      static_cast<int64_t>(model.block_config.size()) - 1;
  const Extent extent = BlockExtent(model, last_block);
  const int64_t batches = source.batches();
  if (batches == 0) {
    return InvalidArgument(fmt::format(
        "--last-batch drop: {} training images do not fill one batch",
        source.examples()));
  }
  const bool single_value =
      extent.height * extent.width * source.BatchExamples(batches - 1) == 1;
  if (!single_value) return batches;
  if (batches > 1 && source.BatchExamples(0) > 1) return batches - 1;
  return InvalidArgument(fmt::format(
      "batches of one image, of which block {} sees one pixel: batch norm "
      "needs more than a single value; give --batch 2 or more",
      last_block + 1));
}

StatusOr<std::unique_ptr<TrainingRun>> TrainingRun::Create(
    const RunConfig& config) {
  std::unique_ptr<TrainingRun> run(new TrainingRun(config));
  RETURN_IF_ERROR(run->WithinBudget(run->Load()));
  RETURN_IF_ERROR(run->WithinBudget(run->Plan()));
  RETURN_IF_ERROR(run->Allocate());
  return run;
}

Status TrainingRun::WithinBudget(const Status& status) const {
  // The plan's own message has everything; the memory's knows no option.
  if (config_.memory_budget_bytes == 0 ||
      status.code() != StatusCode::kResourceExhausted ||
      StdView(status.message()).find("--memory-budget") !=
          std::string_view::npos) {
    return status;
  }
  return ResourceExhausted(fmt::format(
      "--memory-budget is {} bytes, too small for the data set and the "
      "parameters alone: give more ({})",
      config_.memory_budget_bytes, StdView(status.message())));
}

Status TrainingRun::Load() {
  ASSIGN_OR_RETURN(context_, Context::Create({.threads = config_.threads}));
  ASSIGN_OR_RETURN(optimizer_, Optimizer::Create(config_.optimizer));
  ASSIGN_OR_RETURN(schedule_, LearningRateSchedule::Create(config_.schedule));
  for (int i = 0; i < optimizer_->slots(); ++i) {
    slot_names_.emplace_back(optimizer_->slot_name(i));
  }
  ASSIGN_OR_RETURN(data_, TrainingData::Load(config_, memory_));
  return OkStatus();
}

TrainingSizes TrainingRun::Sizes() const {
  TrainingSizes sizes;
  sizes.train_examples = data_->train().examples();
  sizes.test_examples = data_->test().examples();
  if (const BatchSource* validation = data_->validation()) {
    sizes.validation_examples = validation->examples();
  }
  sizes.data_bytes = data_->bytes();
  sizes.slots = optimizer_->slots();
  sizes.loader = LoaderOptions(data_->train(), /*training=*/true);
  sizes.train_workspace_bytes = data_->train().workspace_bytes();
  sizes.test_workspace_bytes = data_->test().workspace_bytes();
  if (const BatchSource* validation = data_->validation()) {
    sizes.validation_workspace_bytes = validation->workspace_bytes();
  }
  return sizes;
}

Status TrainingRun::CountSteps() {
  // Random keys hold 32 bits of it.
  constexpr int64_t kMaxPasses = (int64_t{1} << 32) - 2;
  ASSIGN_OR_RETURN(pass_batches_, StepsPerEpoch(config_.model, data_->train()));
  steps_per_epoch_ =
      config_.steps_per_epoch > 0 ? config_.steps_per_epoch : pass_batches_;
  total_steps_ = config_.epochs * steps_per_epoch_;
  if (config_.max_steps > 0) {
    total_steps_ = std::min(total_steps_, config_.max_steps);
  }
  if (total_steps_ / pass_batches_ > kMaxPasses) {
    return InvalidArgument(fmt::format(
        "--epochs {} of {} steps are {} passes over the training images, at "
        "most {} are possible",
        config_.epochs, steps_per_epoch_, total_steps_ / pass_batches_,
        kMaxPasses));
  }
  return OkStatus();
}

bool TrainingRun::finished() const {
  return progress_.epoch == config_.epochs ||
         ((all_steps_done() || ended_early()) && progress_.batch == 0);
}

BatchLoader::Options TrainingRun::LoaderOptions(const BatchSource& source,
                                                bool training) const {
  BatchLoader::Options options;
  options.ahead = config_.prefetch;
  options.workers = LoaderWorkers(config_.workers, source, threads());
  options.across_epochs = training;
  options.batches = training ? pass_batches_ : 0;
  return options;
}

StatusOr<BatchLoader*> TrainingRun::UseLoader(const BatchSource& source,
                                              bool training) {
  if (loader_ == nullptr || &loader_->source() != &source) {
    loader_.reset();
    ASSIGN_OR_RETURN(
        loader_,
        BatchLoader::Create(&source, LoaderOptions(source, training), memory_));
  }
  return loader_.get();
}

Status TrainingRun::Plan() {
  ASSIGN_OR_RETURN(
      store_, ParameterStore::Create(memory_, ParameterSpecs(config_.model),
                                     StatisticsSpecs(config_.model),
                                     optimizer_->slots()));
  store_->Initialize(*context_, config_.seed);
  const TrainingSizes sizes = Sizes();
  ASSIGN_OR_RETURN(choices_, ResolveAuto(*context_, sizes, *store_, config_));
  data_->SetBatchSize(config_.batch);
  RETURN_IF_ERROR(CountSteps());
  ASSIGN_OR_RETURN(plan_, PlanTraining(*context_, config_, sizes, *store_,
                                       *config_.strategy, config_.batch));
  RETURN_IF_ERROR(CheckBudget(*context_, config_, sizes, plan_, *store_));
  Network::Options options;
  options.strategy = *config_.strategy;
  options.max_batch = plan_.batch;
  options.label_smoothing = config_.label_smoothing;
  options.freeze_features = config_.freeze_features;
  if (!config_.class_weights.empty()) {
    ASSIGN_OR_RETURN(options.class_weights,
                     MakeClassWeights(config_.class_weights, data_->train()));
  }
  ASSIGN_OR_RETURN(train_network_,
                   Network::Create(*context_, config_.model, options, *store_));
  options.mode = Network::Mode::kEvaluate;
  options.max_batch = std::min(
      config_.batch, std::max(sizes.test_examples, sizes.validation_examples));
  ASSIGN_OR_RETURN(evaluation_network_,
                   Network::Create(*context_, config_.model, options, *store_));
  return OkStatus();
}

Status TrainingRun::Allocate() {
  progress_.epoch = config_.initial_epoch;
  progress_.global_step = config_.initial_epoch * steps_per_epoch_;
  // What reading the files took for a moment is no part of a step.
  memory_.ResetPeak();
  ASSIGN_OR_RETURN(Arena arena, Arena::Create(memory_, plan_.arena_bytes()));
  arena_.emplace(std::move(arena));
  train_network_->Bind(*arena_);
  evaluation_network_->Bind(*arena_);
  return UseLoader(data_->train(), /*training=*/true).status();
}

StatusOr<std::string> TrainingRun::TakeInitialNetwork() {
  if (config_.init_from.empty()) return std::string();
  return densenet::TakeInitialNetwork(config_.init_from, config_.init_digest,
                                      config_.model, *store_);
}

absl::Span<float> TrainingRun::Trained(absl::Span<float> all) const {
  if (!config_.freeze_features) return all;
  int64_t frozen = 0;
  for (const ParameterSpec& spec : store_->parameters()) {
    if (!IsOfClassifier(spec.name)) frozen += spec.shape.elems();
  }
  return all.subspan(static_cast<size_t>(frozen));
}

Status TrainingRun::Restore(const Checkpoint& checkpoint) {
  const CheckpointInfo& info = checkpoint.info();
  const DataDescription& then = info.data;
  const DataDescription& now = data_->description();
  if (then.train_examples != now.train_examples) {
    return FailedPrecondition(fmt::format(
        "{}: the run was trained on {} images, the data has {} now",
        checkpoint.path(), then.train_examples, now.train_examples));
  }
  if (then != now) {
    return FailedPrecondition(fmt::format(
        "{}: the run was trained on other images: their mean, deviation, "
        "class names or files differ from those of the data now",
        checkpoint.path()));
  }
  RETURN_IF_ERROR(checkpoint.ReadAll(*store_, slot_names_));
  progress_ = info.progress;
  return OkStatus();
}

StatusOr<TrainingRun::StepResult> TrainingRun::TrainStep() {
  const absl::Time start = absl::Now();
  const int64_t step = progress_.global_step;
  // Passes over the images go on where the last epoch ended.
  const int64_t batch_number =
      progress_.epoch * steps_per_epoch_ + progress_.batch;
  ASSIGN_OR_RETURN(BatchLoader * loader,
                   UseLoader(data_->train(), /*training=*/true));
  ASSIGN_OR_RETURN(
      const Batch batch,
      loader->Get(batch_number / pass_batches_, batch_number % pass_batches_));
  StepResult done;
  done.wait_seconds = absl::ToDoubleSeconds(absl::Now() - start);
  for (const BadExample& bad : batch.bad) done.skipped.push_back(bad.reason);
  progress_.skipped += static_cast<int64_t>(batch.bad.size());
  if (progress_.skipped > config_.max_bad) {
    return TooManyBad(fmt::format("epoch {}", progress_.epoch + 1),
                      progress_.skipped, config_.max_bad,
                      batch.bad.back().reason);
  }
  ASSIGN_OR_RETURN(
      const BatchResult result,
      train_network_->TrainStep(batch.images, Labels(batch), config_.seed,
                                static_cast<uint32_t>(step)));
  if (!std::isfinite(result.loss_sum)) {
    return NonFiniteLoss(batch, result.loss_sum);
  }
  std::vector<absl::Span<float>> slots;
  for (int i = 0; i < store_->slots(); ++i) {
    slots.push_back(Trained(store_->slot(i)));
  }
  optimizer_->Update(*context_, LearningRate(step), Trained(store_->values()),
                     Trained(store_->gradients()), slots);

  done.examples = result.examples;
  done.loss = result.loss_sum / static_cast<double>(result.examples);
  done.seconds = absl::ToDoubleSeconds(absl::Now() - start);
  progress_.global_step = step + 1;
  ++progress_.batch;
  progress_.loss_sum += result.loss_sum;
  progress_.correct += result.correct;
  progress_.correct_top5 += result.correct_top5;
  progress_.examples += result.examples;
  progress_.total_examples += result.examples;
  progress_.seconds += done.seconds;
  progress_.total_seconds += done.seconds;
  return done;
}

Status TrainingRun::NonFiniteLoss(const Batch& batch, double loss) {
  ASSIGN_OR_RETURN(const std::string module,
                   train_network_->FindNonFinite(
                       batch.images, Labels(batch), config_.seed,
                       static_cast<uint32_t>(progress_.global_step)));
  return Diverged(fmt::format(
      "step {} (epoch {}): the loss is {}; {}. The last checkpoint is from "
      "before. A lower --lr in a new run folder may help",
      progress_.global_step + 1, progress_.epoch + 1, loss,
      module.empty()
          ? "the outputs of all layers are finite"
          : fmt::format("{} is the first layer whose output is not finite",
                        module)));
}

Score TrainingRun::train_score() const {
  return MeanScore({.loss_sum = progress_.loss_sum,
                    .correct = progress_.correct,
                    .correct_top5 = progress_.correct_top5,
                    .examples = progress_.examples},
                   config_.model.classes);
}

bool TrainingRun::FinishEpoch(std::optional<double> error_percent) {
  if (progress_.batch == steps_per_epoch_) {
    ++progress_.epoch;
    progress_.batch = 0;
    progress_.loss_sum = 0;
    progress_.correct = 0;
    progress_.correct_top5 = 0;
    progress_.examples = 0;
    progress_.skipped = 0;
    progress_.seconds = 0;
  }
  if (!error_percent) return false;
  if (!(*error_percent < progress_.best_error)) {
    ++progress_.stale_evaluations;
    return false;
  }
  progress_.best_error = *error_percent;
  progress_.best_step = progress_.global_step;
  progress_.stale_evaluations = 0;
  return true;
}

StatusOr<std::optional<Evaluation>> TrainingRun::EvaluateTest(
    const EvaluationProgress& progress) {
  return EvaluateSource(data_->test(), progress);
}

StatusOr<std::optional<Evaluation>> TrainingRun::EvaluateValidation(
    const EvaluationProgress& progress) {
  CHECK(data_->validation() != nullptr);
  return EvaluateSource(*data_->validation(), progress);
}

StatusOr<std::optional<Evaluation>> TrainingRun::EvaluateSource(
    const BatchSource& source, const EvaluationProgress& progress) {
  ASSIGN_OR_RETURN(BatchLoader * loader, UseLoader(source, /*training=*/false));
  return Evaluate(*evaluation_network_, *loader, progress, config_.max_bad);
}

Status TrainingRun::CheckFinite() const {
  if (AllFinite(store_->values()) && AllFinite(store_->statistics_values())) {
    return OkStatus();
  }
  return Diverged(fmt::format(
      "step {} (epoch {}): parameters or running statistics are no finite "
      "numbers any more; the last checkpoint is from before. A lower --lr in "
      "a new run folder may help",
      progress_.global_step, progress_.epoch + 1));
}

Status TrainingRun::Save(const CheckpointFolder& folder, const Json& run) {
  RETURN_IF_ERROR(CheckFinite());
  CheckpointInfo info;
  info.model = config_.model;
  info.data = data_->description();
  info.run = run;
  info.progress = progress_;
  return folder.Save(info, *store_, slot_names_);
}

}  // namespace densenet
