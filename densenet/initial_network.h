// densenet/initial_network.h
//
// What a run starts from in place of random values: the network of a
// checkpoint, of this program or imported (train --init-from). Its classifier
// is taken where it has as many classes; image size and dropout may differ.
//
// Errors   InvalidArgument     another network: names the option that differs
//          FailedPrecondition  the file is not the one that the run began with
//          others              those of checkpoints
// Threads  one thread of control

#ifndef DENSENET_DENSENET_INITIAL_NETWORK_H_
#define DENSENET_DENSENET_INITIAL_NETWORK_H_

#include <string>

#include "core/status.h"
#include "densenet/checkpoint.h"
#include "densenet/model_config.h"
#include "parallel/parameter_store.h"

namespace densenet {

struct InitialNetwork {
  std::string path;    // of the checkpoint, absolute
  std::string digest;  // of the file: core/io/digest.h
  CheckpointInfo info;
};

// `path` is a checkpoint, or a run folder: its newest.
StatusOr<InitialNetwork> DescribeInitialNetwork(const std::string& path);

// Whether a run of `model` can start from it.
Status CheckFits(const InitialNetwork& initial, const ModelConfig& model);

// Puts parameters and statistics of the file at `path` into `store`, which has
// those of `model`; says what it did.
StatusOr<std::string> TakeInitialNetwork(const std::string& path,
                                         const std::string& digest,
                                         const ModelConfig& model,
                                         ParameterStore& store);

}  // namespace densenet

#endif  // DENSENET_DENSENET_INITIAL_NETWORK_H_
