// densenet/cli/fetch_data.h
//
// Fetching a data set with something to look at: on a terminal a bar, elsewhere
// a line now and then. Shared by `datasets fetch` and `train --fetch`.

#ifndef DENSENET_DENSENET_CLI_FETCH_DATA_H_
#define DENSENET_DENSENET_CLI_FETCH_DATA_H_

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/cli/command.h"
#include "densenet/console.h"
#include "densenet/data/fetch.h"

namespace densenet::cli {

// What the options of both commands set. Errors: densenet/data/fetch.h.
StatusOr<std::vector<FetchedFile>> FetchWithProgress(
    const std::string& dataset, const std::string& folder,
    const FetchOptions& options, Console& console);

// --url, --stall-seconds, --connect-seconds
struct FetchFlags {
  std::string url;
  double connect_seconds = 30;
  double stall_seconds = 60;

  FetchOptions ToOptions(const std::function<bool()>& should_stop) const;
};
void AddFetchFlags(CLI::App& command, FetchFlags& flags);

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_FETCH_DATA_H_
