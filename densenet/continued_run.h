// densenet/continued_run.h
//
// What it means to go on with the run that a folder holds: which options it
// keeps, what refuses it, and what is said about it.
//
// Errors   FailedPrecondition  the folder holds another run, or one that lost
//                              its checkpoints; the message says what to do
// Threads  one thread of control

#ifndef DENSENET_DENSENET_CONTINUED_RUN_H_
#define DENSENET_DENSENET_CONTINUED_RUN_H_

#include <string>
#include <vector>

#include "core/status.h"
#include "densenet/checkpoint.h"
#include "densenet/checkpoint_folder.h"
#include "densenet/console.h"
#include "densenet/run_config.h"
#include "densenet/run_folder.h"
#include "densenet/training_run.h"

namespace densenet {

// "auto" of a run that is continued is what it was when the run began; returns
// a line for each. `run` is its config.json.
std::vector<std::string> TakeChoices(const Json& run, RunConfig& config);

// Options that differ and must not.
Status CheckSameRun(const std::string& folder, const Json& then,
                    const Json& now);
// What cannot be seen from the options: edited files, fewer epochs.
Status CheckContinues(const RunConfig& config, const Checkpoint& checkpoint);
// A run that once saved and has no checkpoint any more is not begun anew over
// what is left of it. (Killed before its first checkpoint it may have a row.)
Status CheckNothingIsLost(const RunFolder& folder);

// Says how the run goes on, and makes the folder agree with the checkpoint.
Status Resume(const CheckpointFolder::Opened& opened, const Json& then,
              const TrainingRun& run, const CheckpointFolder& checkpoints,
              Console& console);

}  // namespace densenet

#endif  // DENSENET_DENSENET_CONTINUED_RUN_H_
