// densenet/cli/app.h
//
// The program `densenet`: parses the command line and runs one command.

#ifndef DENSENET_DENSENET_CLI_APP_H_
#define DENSENET_DENSENET_CLI_APP_H_

#include <string>
#include <vector>

#include "densenet/cli/command.h"

namespace densenet::cli {

// `args` without the program's name. Returns the exit code.
int RunApp(const std::vector<std::string>& args, const Environment& env);

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_APP_H_
