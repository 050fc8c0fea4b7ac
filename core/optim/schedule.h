// core/optim/schedule.h
//
// The learning rate as a pure function of how much of the training is done, so
// that a resumed run needs no state to continue where it was.
//
//   constant  the rate itself
//   step      the rate, divided by `divide_by` at each milestone passed:
//             by default / 10 at 50 % and / 100 at 75 % of all steps
//
// Errors    of Create: InvalidArgument names the unknown schedule and those
//           there are, or the setting outside its range
// Numerics  computed in float64, rounded once

#ifndef DENSENET_CORE_OPTIM_SCHEDULE_H_
#define DENSENET_CORE_OPTIM_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace densenet {

struct ScheduleConfig {
  std::string name = "step";  // one of ScheduleNames()
  double learning_rate = 0.1;
  // "step" only: fractions of the training in (0, 1), increasing.
  std::vector<double> milestones = {0.5, 0.75};
  double divide_by = 10.0;
};

class LearningRateSchedule {
 public:
  static StatusOr<LearningRateSchedule> Create(const ScheduleConfig& config);

  // `progress`: the fraction of the training done, 0 before the first step. A
  // milestone counts as passed when progress has reached it.
  float At(double progress) const;
  // The rate of step `step` (0-based) of `total_steps` > 0.
  float AtStep(int64_t step, int64_t total_steps) const;

  const ScheduleConfig& config() const { return config_; }

 private:
  explicit LearningRateSchedule(const ScheduleConfig& config)
      : config_(config) {}

  ScheduleConfig config_;  // "constant": without milestones
};

// The names that Create accepts.
std::vector<std::string> ScheduleNames();

}  // namespace densenet

#endif  // DENSENET_CORE_OPTIM_SCHEDULE_H_
