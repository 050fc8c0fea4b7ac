#include "densenet/cli/app.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "densenet/cli/checkpoint.h"
#include "densenet/cli/records.h"

namespace densenet::cli {
namespace {

// "densenet datasets verify", as far as the arguments name commands.
std::string ProgramName(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    name += ' ' + at->get_name();
  }
  return name;
}

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// CLI11 would call an unknown command a missing one. What is wrong with the
// command, or the command of a group, that the arguments name; or nothing.
std::optional<std::string> UnknownCommand(
    const CLI::App& app, const std::vector<std::string>& args) {
  const CLI::App* at = &app;
  std::string program = app.get_name();
  for (const std::string& arg : args) {
    const std::vector<const CLI::App*> commands = Commands(*at);
    if (commands.empty() || arg.empty() || arg[0] == '-') break;
    const auto found =
        std::find_if(commands.begin(), commands.end(),
                     [&](const CLI::App* c) { return c->get_name() == arg; });
    if (found == commands.end()) {
      std::vector<std::string> names;
      for (const CLI::App* command : commands) {
        names.push_back(command->get_name());
      }
      return fmt::format("{}: unknown command '{}': expected one of {}",
                         program, arg, fmt::join(names, ", "));
    }
    at = *found;
    program += ' ' + arg;
  }
  return std::nullopt;
}

// CLI11's words for an option that is given twice speak of counts.
std::string Explain(const CLI::ParseError& error) {
  const std::string what = error.what();
  const size_t end = what.find(": At Most 1 required");
  return end == std::string::npos
             ? what
             : what.substr(0, end) + " is given more than once";
}

int ReportParseError(const CLI::App& app, const CLI::ParseError& error,
                     const Environment& env) {
  // --help and --version end the parsing too.
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    return app.exit(error, env.out, env.err);
  }
  const std::string program = ProgramName(app);
  env.err << fmt::format("{}: {} (see {} --help)\n", program, Explain(error),
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
  AddReproduceCommand(app, env, &selected);
  AddCompareCommand(app, env, &selected);
  AddPresetsCommand(app, env, &selected);
  AddMemoryCommand(app, env, &selected);
  AddBenchCommand(app, env, &selected);
  AddVerifyCommand(app, env, &selected);
  AddDatasetsCommand(app, env, &selected);
  AddRecordsCommand(app, env, &selected);
  AddCheckpointCommand(app, env, &selected);
  AddDevicesCommand(app, env, &selected);
  if (const std::optional<std::string> unknown = UnknownCommand(app, args)) {
    env.err << *unknown << '\n' << std::flush;
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
