// densenet/inference.h
//
// A network loaded from a checkpoint, ready to run on batches of images.
//
// Memory   parameters and the arena of an evaluation network: no activations
//          are kept
// Errors   those of checkpoints and of memory
// Threads  one thread of control

#ifndef DENSENET_DENSENET_INFERENCE_H_
#define DENSENET_DENSENET_INFERENCE_H_

#include <memory>
#include <optional>

#include "core/context.h"
#include "core/status.h"
#include "densenet/checkpoint.h"
#include "densenet/network.h"
#include "memory/arena.h"
#include "parallel/parameter_store.h"

namespace densenet {

class Inference {
 public:
  // `context` and `memory` must outlive it; `checkpoint` need not.
  static StatusOr<std::unique_ptr<Inference>> Create(
      const Context& context, MemoryResource& memory,
      const Checkpoint& checkpoint, int64_t max_batch);
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;

  Network& network() { return *network_; }

 private:
  Inference() = default;

  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Network> network_;
  std::optional<Arena> arena_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_INFERENCE_H_
