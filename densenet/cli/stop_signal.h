// densenet/cli/stop_signal.h
//
// SIGINT and SIGTERM ask the program to finish what it is at, save and end; a
// second one ends it at once.
//
// A signal handler can reach nothing but a global, so here is the program's
// only one: an atomic flag.
//
// Threads  safe

#ifndef DENSENET_DENSENET_CLI_STOP_SIGNAL_H_
#define DENSENET_DENSENET_CLI_STOP_SIGNAL_H_

namespace densenet::cli {

void CatchStopSignals();
// Whether one has arrived.
bool StopRequested();

}  // namespace densenet::cli

#endif  // DENSENET_DENSENET_CLI_STOP_SIGNAL_H_
