// densenet/checkpoint_average.h
//
// The mean of several checkpoints of one network (stochastic weight
// averaging): of parameters and of running statistics, in float64, rounded
// once. The means of statistics are those of no network exactly; frozen or
// short further training makes them so.
//
// Memory   12 bytes a parameter besides the store
// Errors   InvalidArgument  fewer than two; networks, classes or normalizations
//                           that differ: names the difference
//          others           those of checkpoints
// Threads  one thread of control

#ifndef DENSENET_DENSENET_CHECKPOINT_AVERAGE_H_
#define DENSENET_DENSENET_CHECKPOINT_AVERAGE_H_

#include <memory>
#include <vector>

#include "core/memory_resource.h"
#include "core/status.h"
#include "densenet/checkpoint.h"

namespace densenet {

struct AveragedNetwork {
  // That of the checkpoint with the most steps, without its scores and place
  // in an epoch; `run` also names what was averaged.
  CheckpointInfo info;
  std::unique_ptr<ParameterStore> store;  // without slots
};

StatusOr<AveragedNetwork> AverageCheckpoints(
    MemoryResource& memory, const std::vector<Checkpoint>& checkpoints);

}  // namespace densenet

#endif  // DENSENET_DENSENET_CHECKPOINT_AVERAGE_H_
