// The program `densenet`.

#include <glog/logging.h>
#include <malloc.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "densenet/cli/app.h"
#include "densenet/cli/stop_signal.h"

int main(int argc, char** argv) {
  // What is taken for one image goes back to the system with it. By itself the
  // C library takes ever larger blocks from its heaps, which then have holes:
  // resident memory would creep for as long as new images come.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  const std::vector<std::string> args(argv + 1, argv + argc);
  // The commands that can finish what they are at and save; a signal ends the
  // others at once.
  for (const char* command : {"train", "eval", "predict", "records"}) {
    if (!args.empty() && args[0] == command) {
      densenet::cli::CatchStopSignals();
    }
  }
  const densenet::cli::Environment env{
      .out = std::cout,
      .err = std::cerr,
      .terminal = isatty(STDOUT_FILENO) == 1,
      .should_stop = densenet::cli::StopRequested};
  return densenet::cli::RunApp(args, env);
}
