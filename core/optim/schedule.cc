#include "core/optim/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>

#include <cmath>

namespace densenet {

StatusOr<LearningRateSchedule> LearningRateSchedule::Create(
    const ScheduleConfig& config) {
  ScheduleConfig resolved = config;
  if (config.name == "constant") {
    resolved.milestones.clear();
  } else if (config.name != "step") {
    return InvalidArgument(fmt::format("unknown schedule '{}': expected {}",
                                       config.name,
                                       fmt::join(ScheduleNames(), ", ")));
  }
  if (!(config.learning_rate > 0.0 && std::isfinite(config.learning_rate))) {
    return InvalidArgument(
        fmt::format("schedule {}: learning_rate is {}, expected a finite "
                    "number above 0",
                    config.name, config.learning_rate));
  }
  if (!(config.divide_by >= 1.0 && std::isfinite(config.divide_by))) {
    return InvalidArgument(
        fmt::format("schedule {}: divide_by is {}, expected a finite number, "
                    "at least 1",
                    config.name, config.divide_by));
  }
  double previous = 0.0;
  for (double milestone : resolved.milestones) {
    if (!(milestone > previous && milestone < 1.0)) {
      return InvalidArgument(fmt::format(
          "schedule {}: milestones are {}, expected increasing fractions of "
          "the training between 0 and 1",
          config.name, fmt::join(config.milestones, ", ")));
    }
    previous = milestone;
  }
  return LearningRateSchedule(resolved);
}

float LearningRateSchedule::At(double progress) const {
  double divisor = 1.0;
  for (double milestone : config_.milestones) {
    if (progress >= milestone) divisor *= config_.divide_by;
  }
  return static_cast<float>(config_.learning_rate / divisor);
}

float LearningRateSchedule::AtStep(int64_t step, int64_t total_steps) const {
  CHECK_GT(total_steps, 0);
  // Correctly rounded, as is a decimal milestone: step 3 of 5 reaches 0.6.
  return At(static_cast<double>(step) / static_cast<double>(total_steps));
}

std::vector<std::string> ScheduleNames() { return {"constant", "step"}; }

}  // namespace densenet
