#include <fmt/format.h>

#include <memory>

#include "densenet/cli/datasets.h"
#include "densenet/cli/fetch_data.h"

namespace densenet::cli {
namespace {

constexpr char kName[] = "datasets fetch";

struct Options {
  std::string dataset;
  std::string to;
  FetchFlags flags;
  std::optional<std::string> json;
};

int Run(const Options& options, const Environment& env) {
  Status status = CheckJsonOption(options.json);
  if (!status.ok()) return Report(env, kName, status, kExitFailed);
  Console console(env.out, env.terminal);
  StatusOr<std::vector<FetchedFile>> files =
      FetchWithProgress(options.dataset, options.to,
                        options.flags.ToOptions(env.should_stop), console);
  if (!files.ok()) {
    return Report(env, kName, files.status(), ExitCodeOf(files.status()));
  }
  Json rows = Json::array();
  for (const FetchedFile& file : *files) {
    rows.push_back({{"path", file.path},
                    {"bytes", file.bytes},
                    {"was_there", file.was_there}});
  }
  status = WriteJsonOption(options.json, Json{{"rows", std::move(rows)}});
  return status.ok() ? kExitDone : Report(env, kName, status, kExitFailed);
}

}  // namespace

void AddDatasetsFetch(CLI::App& group, const Environment& env,
                      Command* selected) {
  CLI::App* command =
      group.add_subcommand("fetch", "download a data set, check it, unpack it");
  command->footer(
      "What was interrupted goes on from where it ended. http_proxy, "
      "https_proxy and\nno_proxy are respected.");
  auto o = std::make_shared<Options>();
  command->add_option("name", o->dataset, "the data set")
      ->type_name("NAME")
      ->required();
  command->add_option("--to", o->to, "folder that the files go to; created")
      ->type_name("DIR")
      ->required();
  AddFetchFlags(*command, o->flags);
  AddOption(*command, "--json", o->json, "write {\"rows\": [...]}", "FILE");
  command->callback(
      [&env, selected, o] { *selected = [&env, o] { return Run(*o, env); }; });
}

}  // namespace densenet::cli
