#include "densenet/trainer.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "densenet/byte_size.h"
#include "densenet/checkpoint_folder.h"
#include "densenet/continued_run.h"
#include "densenet/progress_meter.h"
#include "densenet/run_folder.h"
#include "densenet/training_run.h"

namespace densenet {
namespace {

std::string ScoreText(const Score& score) {
  return fmt::format("loss {:.4f} {}", score.loss, ErrorText(score));
}

// Drives a TrainingRun that is set up, saving as it goes.
class TrainingLoop {
 public:
  TrainingLoop(TrainingRun& run, const CheckpointFolder& checkpoints,
               RunObserver& observer, Json run_json, const TrainHooks& hooks,
               Console& console)
      : run_(run),
        checkpoints_(checkpoints),
        observer_(observer),
        run_json_(std::move(run_json)),
        hooks_(hooks),
        console_(console),
        meter_(console, {.epochs = run.config().epochs,
                         .steps_per_epoch = run.steps_per_epoch()}),
        start_(absl::Now()),
        last_save_(start_) {}

  // Until the last epoch is done or somebody stops it. An epoch that
  // --max-steps cuts short ends like a whole one.
  Status Run() {
    while (!stopped_ && !test_) {
      RETURN_IF_ERROR(TrainEpoch());
      if (!stopped_) RETURN_IF_ERROR(EndEpoch());
    }
    return OkStatus();
  }

  // Of a run that was finished before.
  Status EvaluateAgain() {
    ASSIGN_OR_RETURN(const std::optional<Evaluation> test,
                     run_.EvaluateTest(Watch(run_.progress().epoch)));
    stopped_ = !test.has_value();
    if (test) {
      test_ = test->score;
      ReportSkipped("test", *test);
    }
    return OkStatus();
  }

  bool stopped() const { return stopped_; }
  const std::optional<Score>& test() const { return test_; }

 private:
  Status TrainEpoch() {
    const RunConfig& config = run_.config();
    while (!run_.epoch_is_over()) {
      ASSIGN_OR_RETURN(const TrainingRun::StepResult step, run_.TrainStep());
      const TrainingProgress& progress = run_.progress();
      meter_.Step(progress, step.examples, step.seconds);
      for (const Status& reason : step.skipped) NameSkipped(reason);
      RETURN_IF_ERROR(observer_.StepDone(
          {.step = progress.global_step,
           .loss = step.loss,
           .learning_rate = run_.LearningRate(progress.global_step - 1)}));
      if (hooks_.after_step) RETURN_IF_ERROR(hooks_.after_step(progress));
      if (ShouldStop()) return SaveAndStop();
      const bool by_step = config.checkpoint_every > 0 &&
                           progress.global_step % config.checkpoint_every == 0;
      const bool by_time =
          config.checkpoint_minutes > 0 &&
          absl::Now() - last_save_ >= absl::Minutes(config.checkpoint_minutes);
      // At its end an epoch is saved with its results.
      if ((by_step || by_time) && !run_.epoch_is_over()) {
        RETURN_IF_ERROR(Save());
      }
    }
    return OkStatus();
  }

  Status EndEpoch() {
    const RunConfig& config = run_.config();
    EpochMetrics metrics = TrainingMetrics();
    bool last = run_.all_steps_done();
    const bool evaluate = last || metrics.epoch % config.eval_every == 0;
    const bool validate = config.validation > 0;
    const absl::Time start = absl::Now();
    std::optional<double> error;
    if (evaluate) {
      ASSIGN_OR_RETURN(const std::optional<Score> score,
                       EvaluateEpoch(metrics, validate));
      if (!score) return SaveAndStop();
      error = score->error_percent;
      last = last || run_.EndsEarly(*error);
    }
    if (last && validate) {
      ASSIGN_OR_RETURN(const std::optional<Score> test,
                       EvaluateEpoch(metrics, /*validate=*/false));
      if (!test) return SaveAndStop();
    }
    meter_.EvaluationDone(absl::ToDoubleSeconds(absl::Now() - start));
    // The row before the checkpoint: a kill in between repeats the epoch's
    // end, and resuming cuts the row off.
    RETURN_IF_ERROR(observer_.EpochDone(metrics));
    const bool best = run_.FinishEpoch(error);
    RETURN_IF_ERROR(Save());
    if (best) {
      RETURN_IF_ERROR(checkpoints_.MarkBest(run_.progress().global_step));
    }
    Report(metrics, best);
    if (run_.ended_early()) {
      console_.Line(fmt::format(
          "no lower error in {} evaluations (--patience): the run ends here",
          config.patience));
    }
    if (last) test_ = metrics.test;
    return OkStatus();
  }

  // The row of the epoch that is over, before any evaluation.
  EpochMetrics TrainingMetrics() const {
    EpochMetrics metrics;
    metrics.epoch = run_.progress().epoch + 1;
    metrics.step = run_.progress().global_step;
    metrics.learning_rate = run_.LearningRate(metrics.step - 1);
    metrics.train = run_.train_score();
    metrics.seconds = run_.progress().seconds;
    metrics.images_per_second =
        static_cast<double>(run_.progress().examples) / metrics.seconds;
    metrics.skipped = run_.progress().skipped;
    return metrics;
  }

  // Into the row, on the images held out or those of the test; nothing when it
  // was stopped.
  StatusOr<std::optional<Score>> EvaluateEpoch(EpochMetrics& metrics,
                                               bool validate) {
    named_ = 0;
    const EvaluationProgress watch = Watch(metrics.epoch);
    ASSIGN_OR_RETURN(
        const std::optional<Evaluation> evaluation,
        validate ? run_.EvaluateValidation(watch) : run_.EvaluateTest(watch));
    if (!evaluation) return std::optional<Score>();
    ReportSkipped(validate ? "validation" : "test", *evaluation);
    (validate ? metrics.validation : metrics.test) = evaluation->score;
    return std::optional<Score>(evaluation->score);
  }

  // The first of an epoch for people, all of them into the log.
  void NameSkipped(const Status& reason) {
    constexpr int64_t kNamed = 10;
    const std::string line =
        fmt::format("skipped: {}", StdView(reason.message()));
    if (named_++ < kNamed) {
      console_.Line(line);
    } else {
      console_.Log(line);
    }
  }

  void ReportSkipped(std::string_view split, const Evaluation& evaluation) {
    if (evaluation.skipped.empty()) return;
    for (const Status& reason : evaluation.skipped) NameSkipped(reason);
    named_ = 0;
    console_.Line(fmt::format(
        "{} {} images could not be read and are left out of the {} evaluated",
        evaluation.skipped.size(), split, evaluation.examples));
  }

  void Report(const EpochMetrics& m, bool best) {
    std::string line = fmt::format("epoch {}/{}: train {}", m.epoch,
                                   run_.config().epochs, ScoreText(m.train));
    if (m.validation) line += ", validation " + ScoreText(*m.validation);
    if (m.test) line += ", test " + ScoreText(*m.test);
    console_.Line(fmt::format("{}{}, rate {:.3g}, {:.0f} images/s, {}", line,
                              best ? " (best)" : "", m.learning_rate,
                              m.images_per_second,
                              DurationText(absl::Seconds(m.seconds))));
    if (m.skipped > 0) {
      console_.Line(fmt::format(
          "epoch {}: {} training images could not be read; others stood in for "
          "them",
          m.epoch, m.skipped));
    }
  }

  // Shows how far an evaluation is, and ends it when the run shall stop.
  EvaluationProgress Watch(int64_t epoch) {
    return [this, epoch](int64_t done, int64_t total) {
      meter_.Evaluating(epoch, done, total);
      return !ShouldStop();
    };
  }

  bool ShouldStop() {
    if (hooks_.should_stop && hooks_.should_stop()) return true;
    const double limit = run_.config().max_seconds;
    if (limit == 0 || absl::Now() - start_ < absl::Seconds(limit)) return false;
    if (!time_is_up_) {
      console_.Line(fmt::format("time is up (--max-time {})",
                                absl::FormatDuration(absl::Seconds(limit))));
    }
    time_is_up_ = true;
    return true;
  }

  Status Save() {
    RETURN_IF_ERROR(observer_.Sync());
    RETURN_IF_ERROR(run_.Save(checkpoints_, run_json_));
    last_save_ = absl::Now();
    return OkStatus();
  }

  Status SaveAndStop() {
    stopped_ = true;
    return Save();
  }

  TrainingRun& run_;
  const CheckpointFolder& checkpoints_;
  RunObserver& observer_;
  const Json run_json_;
  const TrainHooks& hooks_;
  Console& console_;
  ProgressMeter meter_;
  const absl::Time start_;
  absl::Time last_save_;
  bool time_is_up_ = false;
  bool stopped_ = false;
  std::optional<Score> test_;
  int64_t named_ = 0;  // skipped images of this epoch
};

void Describe(const TrainingRun& run, const std::string& folder,
              Console& console) {
  const RunConfig& c = run.config();
  console.Line(fmt::format("model   {}: {} parameters, dropout {}",
                           ModelName(c.model), ParameterCount(c.model),
                           c.model.dropout));
  std::string held_out;
  if (const BatchSource* validation = run.data().validation()) {
    held_out = fmt::format("{} validation and ", validation->examples());
  }
  console.Line(fmt::format(
      "data    {}: {} training, {}{} test images of {} x {} x {}{}", c.dataset,
      run.data().train().examples(), held_out, run.data().test().examples(),
      c.model.image_height, c.model.image_width, c.model.image_channels,
      c.augment == AugmentKind::kNone
          ? ""
          : fmt::format(", augmented ({})", Name(c.augment))));
  for (const std::string& note : run.data().notes()) {
    console.Line("note    " + note);
  }
  console.Line(fmt::format(
      "train   {} epochs of {} steps{}, batch {}, {}, rate {} ({}), weight "
      "decay {}, seed {}",
      c.epochs, run.steps_per_epoch(),
      c.max_steps > 0 ? fmt::format(" ({} in all)", run.total_steps()) : "",
      c.batch, c.optimizer.name, c.schedule.learning_rate, c.schedule.name,
      c.optimizer.weight_decay, c.seed));
  console.Line(fmt::format("machine cpu, {} threads, strategy {}",
                           run.threads(), Name(*c.strategy)));
  if (!c.init_from.empty()) {
    console.Line("images  normalized by " + c.normalize);
  }
  if (c.freeze_features) {
    console.Line("frozen  all but the classifier, in evaluation mode");
  }
  for (const std::string& choice : run.choices()) {
    console.Line("auto    " + choice);
  }
  if (c.patience > 0 && c.validation == 0) {
    console.Line(
        "note    --patience without --validation: the test images say when to "
        "end, so the test error is lower than it would be on new images");
  }
  console.Line("memory  planned peak " + run.plan().ToString());
  console.Line("folder  " + folder);
}

// Of the last row of metrics.csv to be kept: the end of the last whole epoch.
// The row of an epoch that was cut short is written again.
int64_t LastRowStep(const TrainingRun& run) {
  return run.progress().global_step - run.progress().batch;
}

TrainResult MakeResult(const TrainingRun& run, const TrainingLoop& loop,
                       const CheckpointFolder& checkpoints) {
  const TrainingProgress& p = run.progress();
  TrainResult result;
  result.steps = p.global_step;
  result.epochs = p.epoch;
  result.test = loop.test();
  result.images_per_second =
      p.total_seconds > 0
          ? static_cast<double>(p.total_examples) / p.total_seconds
          : 0;
  result.planned_peak_bytes = run.plan().total_bytes();
  result.measured_peak_bytes = run.measured_peak_bytes();
  result.checkpoint = checkpoints.PathOf(p.global_step);
  result.best_error = p.best_error;
  result.best_step = p.best_step;
  result.stopped = loop.stopped();
  return result;
}

}  // namespace

StatusOr<TrainResult> Train(const RunConfig& asked, const TrainHooks& hooks,
                            Console& console) {
  CHECK_EQ(asked.device, "cpu");
  RunConfig config = asked;
  ASSIGN_OR_RETURN(RunFolder folder, RunFolder::Open(config.out));
  CheckpointFolder checkpoints(folder.path(), config.keep);
  std::vector<std::string> taken;
  auto continues = [&](const Json& run) {
    taken = TakeChoices(run, config);
    return CheckSameRun(folder.path(), run, ToJson(config));
  };
  ASSIGN_OR_RETURN(std::optional<Json> then, folder.ReadConfig());
  if (then) RETURN_IF_ERROR(continues(*then));
  ASSIGN_OR_RETURN(const std::optional<CheckpointFolder::Opened> newest,
                   checkpoints.OpenNewest());
  if (newest) {
    const Checkpoint& checkpoint = newest->checkpoint;
    if (!then) {
      then = checkpoint.info().run;
      RETURN_IF_ERROR(continues(*then));
    }
    RETURN_IF_ERROR(CheckContinues(config, checkpoint));
  } else if (then) {
    RETURN_IF_ERROR(CheckNothingIsLost(folder));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<TrainingRun> run,
                   TrainingRun::Create(config));
  checkpoints.KeepEvery(config.keep_every * run->steps_per_epoch());
  const Json now = ToJson(run->config());
  std::string initial;
  if (newest) {
    RETURN_IF_ERROR(run->Restore(newest->checkpoint));
  } else {
    ASSIGN_OR_RETURN(initial, run->TakeInitialNetwork());
  }

  // From here on the folder stays, whatever happens.
  folder.Commit();
  // Before anything else: a folder without it is no run to go on with.
  if (!then) RETURN_IF_ERROR(folder.WriteConfig(now));
  RETURN_IF_ERROR(console.OpenLog(folder.log_path()));
  Describe(*run, folder.path(), console);
  if (!initial.empty()) console.Line("start   " + initial);
  for (const std::string& line : taken) console.Line("auto    " + line);
  if (newest) {
    RETURN_IF_ERROR(Resume(*newest, *then, *run, checkpoints, console));
  }
  RETURN_IF_ERROR(folder.WriteConfig(now));
  ASSIGN_OR_RETURN(MetricsCsv metrics,
                   MetricsCsv::Open(folder.metrics_path(), LastRowStep(*run)));
  RunObservers observers;
  observers.Add(std::make_unique<MetricsCsv>(std::move(metrics)));
  TrainingLoop loop(*run, checkpoints, observers, now, hooks, console);
  const Status status = run->finished() ? loop.EvaluateAgain() : loop.Run();
  if (!status.ok()) {
    console.Log(fmt::format("failed: {}", StdView(status.message())));
    return status;
  }
  return MakeResult(*run, loop, checkpoints);
}

}  // namespace densenet
