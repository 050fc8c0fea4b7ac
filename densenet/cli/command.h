// densenet/cli/command.h
//
// What the commands of the program share. A command adds itself to the
// command line and, once its options are parsed, leaves in `selected` what
// runs it.
//
// Exit codes  0 done, 1 failed, 2 usage: an option that is unknown, missing or
//             has an impossible value

#ifndef DENSENET_DENSENET_CLI_COMMAND_H_
#define DENSENET_DENSENET_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/run_config.h"

namespace densenet::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// Where a command runs; outlives it.
struct Environment {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  // `out` is one
  // True once the user asked the program to end (SIGINT, SIGTERM).
  std::function<bool()> should_stop;
};

// Returns the exit code.
using Command = std::function<int()>;

void AddTrainCommand(CLI::App& app, const Environment& env, Command* selected);
void AddEvalCommand(CLI::App& app, const Environment& env, Command* selected);
void AddPredictCommand(CLI::App& app, const Environment& env,
                       Command* selected);
void AddCompareCommand(CLI::App& app, const Environment& env,
                       Command* selected);
void AddReproduceCommand(CLI::App& app, const Environment& env,
                         Command* selected);
void AddPresetsCommand(CLI::App& app, const Environment& env,
                       Command* selected);
void AddDevicesCommand(CLI::App& app, const Environment& env,
                       Command* selected);
void AddMemoryCommand(CLI::App& app, const Environment& env, Command* selected);
void AddBenchCommand(CLI::App& app, const Environment& env, Command* selected);
void AddVerifyCommand(CLI::App& app, const Environment& env, Command* selected);
void AddDatasetsCommand(CLI::App& app, const Environment& env,
                        Command* selected);

// One line "densenet <command>: <message>" to env.err; returns `code`.
int Report(const Environment& env, std::string_view command,
           const Status& status, int code);

// kExitUsage for an impossible option value, else kExitFailed.
int ExitCodeOf(const Status& status);

// --json: checks that it can be written before the work, writes it after.
Status CheckJsonOption(const std::optional<std::string>& path);
Status WriteJsonOption(const std::optional<std::string>& path,
                       const Json& json);

// --device of a command that runs on the CPU today: "cpu", or "auto", which
// says what it chose.
// Errors  InvalidArgument  no device name
//         Unimplemented    a CUDA device: says what runs there today
StatusOr<std::string> ResolveDevice(const std::string& device,
                                    std::string_view what,
                                    const Environment& env);

// "1,329,278,602"
std::string GroupDigits(int64_t count);

// An option whose value is stored only when it is given.
template <typename T>
CLI::Option* AddOption(CLI::App& command, const std::string& name,
                       std::optional<T>& target, const std::string& help,
                       const std::string& type = "") {
  CLI::Option* option = command.add_option_function<T>(
      name, [&target](const T& value) { target = value; }, help);
  if (!type.empty()) option->type_name(type);
  return option;
}

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_COMMAND_H_
