#include "densenet/cli/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "densenet/checkpoint.h"

namespace densenet::cli {

bool IsCheckpoint(const TensorFile& file) {
  return file.values().count(kClockMetadata) > 0;
}

std::string ToString(const Normalization& normalization) {
  return fmt::format("mean {}, deviation {}, of pixels in [0, 1]",
                     fmt::join(normalization.mean, ", "),
                     fmt::join(normalization.std, ", "));
}

void PrintList(std::string_view title, const std::vector<std::string>& lines,
               const Environment& env) {
  constexpr size_t kShown = 10;
  if (lines.empty()) return;
  env.out << fmt::format("{} ({}):\n", title, lines.size());
  for (size_t i = 0; i < lines.size() && i < kShown; ++i) {
    env.out << "  " << lines[i] << '\n';
  }
  if (lines.size() > kShown) {
    env.out << fmt::format("  and {} more; --json FILE has all\n",
                           lines.size() - kShown);
  }
}

void AddCheckpointCommand(CLI::App& app, const Environment& env,
                          Command* selected) {
  CLI::App* group = app.add_subcommand(
      "checkpoint", "inspect checkpoints, take networks from PyTorch and back");
  group->require_subcommand(1);
  group->footer(
      "densenet checkpoint <command> --help shows a command's options.");
  AddCheckpointInspect(*group, env, selected);
  AddCheckpointImport(*group, env, selected);
  AddCheckpointExport(*group, env, selected);
  AddCheckpointAverage(*group, env, selected);
}

}  // namespace densenet::cli
