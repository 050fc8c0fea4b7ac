#include "densenet/progress_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace densenet {
namespace {

constexpr int kBarCells = 20;
constexpr double kSmoothing = 0.1;  // weight of the newest step

std::string BarCells(double fraction) {
  const int full =
      std::clamp(static_cast<int>(fraction * kBarCells), 0, kBarCells);
  return fmt::format("[{}{}]", std::string(full, '#'),
                     std::string(kBarCells - full, '.'));
}

}  // namespace

std::string DurationText(absl::Duration duration) {
  const int64_t seconds =
      std::max(int64_t{0}, absl::ToInt64Seconds(duration + absl::Seconds(0.5)));
  const int64_t minutes = seconds / 60;
  const int64_t hours = minutes / 60;
  if (hours >= 24) return fmt::format("{} d {:02} h", hours / 24, hours % 24);
  if (hours > 0) return fmt::format("{} h {:02} min", hours, minutes % 60);
  if (minutes > 0) return fmt::format("{} min {:02} s", minutes, seconds % 60);
  return fmt::format("{} s", seconds);
}

ProgressMeter::ProgressMeter(Console& console, Options options)
    : console_(console),
      options_(std::move(options)),
      last_shown_(options_.now()) {}

double ProgressMeter::images_per_second() const {
  return step_seconds_ > 0 ? step_examples_ / step_seconds_ : 0;
}

absl::Duration ProgressMeter::TimeLeft(const TrainingProgress& p) const {
  const int64_t steps =
      (options_.epochs - p.epoch) * options_.steps_per_epoch - p.batch;
  const double evaluations =
      evaluation_seconds_ * static_cast<double>(options_.epochs - p.epoch);
  return absl::Seconds(static_cast<double>(steps) * step_seconds_ +
                       evaluations);
}

std::string ProgressMeter::Describe(const TrainingProgress& p, bool bar) const {
  const double fraction = static_cast<double>(p.batch) /
                          static_cast<double>(options_.steps_per_epoch);
  const double examples = static_cast<double>(std::max(int64_t{1}, p.examples));
  return fmt::format(
      "epoch {}/{} {}{:3.0f}%  loss {:.4f}  error {:.2f}%  {:.0f} images/s  "
      "{} left",
      p.epoch + 1, options_.epochs,
      bar ? BarCells(fraction) + " " : std::string(), 100 * fraction,
      p.loss_sum / examples,
      100.0 * static_cast<double>(p.examples - p.correct) / examples,
      images_per_second(), DurationText(TimeLeft(p)));
}

void ProgressMeter::Step(const TrainingProgress& progress, int64_t examples,
                         double seconds) {
  const double n = static_cast<double>(examples);
  const double weight = step_seconds_ > 0 ? kSmoothing : 1.0;
  step_seconds_ += weight * (seconds - step_seconds_);
  step_examples_ += weight * (n - step_examples_);
  const bool bar = console_.terminal();
  const absl::Time now = options_.now();
  if (now - last_shown_ <
      (bar ? options_.bar_interval : options_.line_interval)) {
    return;
  }
  last_shown_ = now;
  if (bar) {
    console_.Bar(Describe(progress, true));
  } else {
    console_.Line(Describe(progress, false));
  }
}

void ProgressMeter::Evaluating(int64_t epoch, int64_t done, int64_t total) {
  const absl::Time now = options_.now();
  if (!console_.terminal() || now - last_shown_ < options_.bar_interval) return;
  last_shown_ = now;
  const double fraction =
      static_cast<double>(done) / static_cast<double>(total);
  console_.Bar(fmt::format("epoch {}/{} {} {:3.0f}%  evaluating", epoch,
                           options_.epochs, BarCells(fraction),
                           100 * fraction));
}

}  // namespace densenet
