#include "densenet/cli/app.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "densenet/cli/records.h"

namespace densenet::cli {
namespace {

// The name of the command among the arguments, for messages; "" without.
std::string CommandName(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  return commands.empty() ? "" : commands.front()->get_name();
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// CLI11 would call an unknown command a missing one.
bool IsUnknownCommand(const std::vector<std::string>& known,
                      const std::vector<std::string>& args) {
  return !args.empty() && !args[0].empty() && args[0][0] != '-' &&
         std::find(known.begin(), known.end(), args[0]) == known.end();
}

int ReportParseError(const CLI::App& app, const CLI::ParseError& error,
                     const Environment& env) {
  // --help and --version end the parsing too.
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    return app.exit(error, env.out, env.err);
  }
  const std::string command = CommandName(app);
  const std::string program =
      command.empty() ? "densenet" : "densenet " + command;
  env.err << fmt::format("{}: {} (see {} --help)\n", program, error.what(),
                         program)
          << std::flush;
  return kExitUsage;
}

}  // namespace

int RunApp(const std::vector<std::string>& args, const Environment& env) {
  CLI::App app(
      "Trains DenseNets at the cost of their features: train, evaluate, "
      "predict, measure memory and speed.",
      "densenet");
  app.set_version_flag("--version", "densenet " DENSENET_VERSION);
  app.require_subcommand(1);
  app.footer(
      "densenet <command> --help shows a command's options.\n"
      "Exit codes: 0 done, 1 failed, 2 usage.");
  Command selected;
  AddTrainCommand(app, env, &selected);
  AddEvalCommand(app, env, &selected);
  AddPredictCommand(app, env, &selected);
  AddPresetsCommand(app, env, &selected);
  AddMemoryCommand(app, env, &selected);
  AddBenchCommand(app, env, &selected);
  AddVerifyCommand(app, env, &selected);
  AddRecordsCommand(app, env, &selected);
  AddDevicesCommand(app, env, &selected);
  const std::vector<std::string> commands = CommandNames(app);
  if (IsUnknownCommand(commands, args)) {
    env.err << fmt::format(
                   "densenet: unknown command '{}': expected one of {}\n",
                   args[0], fmt::join(commands, ", "))
            << std::flush;
    return kExitUsage;
  }
  // CLI11 takes the arguments last first.
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    return ReportParseError(app, error, env);
  }
  return selected();
}

}  // namespace densenet::cli
