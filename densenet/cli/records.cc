#include "densenet/cli/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/context.h"
#include "densenet/console.h"

namespace densenet::cli {

void AddSchemaOptions(CLI::App& command, ExampleSchema& schema) {
  command
      .add_option("--image-key", schema.image_key,
                  "the feature with the image (image/encoded)")
      ->type_name("NAME");
  command
      .add_option("--label-key", schema.label_key,
                  "the feature with the label (image/class/label)")
      ->type_name("NAME");
  command
      .add_option("--label-offset", schema.label_offset,
                  "the label of class 0: 1 where labels count from 1 (0)")
      ->type_name("N");
}

std::function<void(int64_t, int64_t)> ProgressBar(const Environment& env,
                                                  std::string_view verb,
                                                  std::string_view what,
                                                  int64_t unit) {
  if (!env.terminal) return {};
  // The console takes the bar away when the callback goes.
  struct State {
    explicit State(std::ostream& out) : console(out, /*terminal=*/true) {}
    Console console;
    absl::Time shown = absl::InfinitePast();
  };
  auto state = std::make_shared<State>(env.out);
  return [state, unit, verb = std::string(verb), what = std::string(what)](
             int64_t done, int64_t total) {
    constexpr int kCells = 20;
    const absl::Time now = absl::Now();
    if (now - state->shown < absl::Milliseconds(200) && done < total) return;
    state->shown = now;
    const double share =
        total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    const int full = std::clamp(static_cast<int>(share * kCells), 0, kCells);
    state->console.Bar(fmt::format("{} [{}{}] {:3.0f}%  {} of {} {}", verb,
                                   std::string(full, '#'),
                                   std::string(kCells - full, '.'), 100 * share,
                                   done / unit, total / unit, what));
  };
}

std::string Counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

int UsableThreads(int threads) {
  return threads > 0 ? threads : std::max(1, AvailableCpus());
}

void AddRecordsCommand(CLI::App& app, const Environment& env,
                       Command* selected) {
  CLI::App* group = app.add_subcommand(
      "records", "build, count, verify, repair and show TFRecord files");
  group->require_subcommand(1);
  group->footer("densenet records <command> --help shows a command's options.");
  AddRecordsBuild(*group, env, selected);
  AddRecordsCount(*group, env, selected);
  AddRecordsVerify(*group, env, selected);
  AddRecordsRepair(*group, env, selected);
  AddRecordsShow(*group, env, selected);
}

}  // namespace densenet::cli
