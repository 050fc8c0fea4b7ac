#include "densenet/cli/stop_signal.h"

#include <glog/logging.h>
#include <signal.h>

#include <atomic>

namespace densenet::cli {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void OnStopSignal(int) { stop_requested.store(true); }

}  // namespace

void CatchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = OnStopSignal;
  sigemptyset(&action.sa_mask);
  // SA_RESETHAND: the second signal meets the default action. SA_RESTART:
  // reads and writes in progress go on.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  PCHECK(sigaction(SIGINT, &action, nullptr) == 0);
  PCHECK(sigaction(SIGTERM, &action, nullptr) == 0);
}

bool StopRequested() { return stop_requested.load(); }

}  // namespace densenet::cli
