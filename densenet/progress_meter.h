// densenet/progress_meter.h
//
// How training goes, for people: on a terminal a bar that is drawn again a few
// times a second, elsewhere a line now and then. Shows the epoch, the mean
// loss and error of its examples so far, images per second of late, and the
// time left.
//
// Threads  one thread of control

#ifndef DENSENET_DENSENET_PROGRESS_METER_H_
#define DENSENET_DENSENET_PROGRESS_METER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "densenet/checkpoint.h"
#include "densenet/console.h"

namespace densenet {

// "45 s", "12 min 05 s", "3 h 20 min", "5 d 07 h".
std::string DurationText(absl::Duration duration);

class ProgressMeter {
 public:
  struct Options {
    int64_t epochs = 0;
    int64_t steps_per_epoch = 0;
    absl::Duration line_interval = absl::Seconds(30);
    absl::Duration bar_interval = absl::Milliseconds(200);
    std::function<absl::Time()> now = absl::Now;
  };
  ProgressMeter(Console& console, Options options);

  // After a step: `progress` with this step in it, `seconds` that it took.
  void Step(const TrainingProgress& progress, int64_t examples, double seconds);
  // After part `done` of `total` of an evaluation.
  void Evaluating(int64_t epoch, int64_t done, int64_t total);
  // Time an evaluation took; it counts in the time left.
  void EvaluationDone(double seconds) { evaluation_seconds_ = seconds; }
  double images_per_second() const;

 private:
  std::string Describe(const TrainingProgress& progress, bool bar) const;
  absl::Duration TimeLeft(const TrainingProgress& progress) const;

  Console& console_;
  Options options_;
  absl::Time last_shown_;
  // Exponential means over steps.
  double step_seconds_ = 0;
  double step_examples_ = 0;
  double evaluation_seconds_ = 0;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_PROGRESS_METER_H_
