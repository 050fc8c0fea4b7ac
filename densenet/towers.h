// densenet/towers.h
//
// Data-parallel training on the CPU: towers that share a batch, each with a
// slice of the threads, a network, an arena and gradients of its own, over the
// parameters, slots and running statistics of one hosted store. A step leaves
// the gradients of the MEAN loss of the whole batch in that store, as one
// network does.
//
//   batch norm    over a tower's own images, as is usual, or over the whole
//                 batch (synchronized)
//   running       the mean of the towers' new ones, weighted by images and
//   statistics    taken in the order of towers; synchronized, they are equal
//
// Memory    for each tower: an arena of plan(t).arena_bytes(), gradients and
//           statistics from the resource; a step allocates nothing else
// Errors    those of Network; those of one tower end the step of all
// Numerics  synchronized: statistics and features are bitwise those of one
//           network on the whole batch; logits and gradients differ by the
//           order of sums. Bitwise the same for the same number of towers,
//           whatever their threads and timing
// Threads   one thread of control; towers run on threads of their own

#ifndef DENSENET_DENSENET_TOWERS_H_
#define DENSENET_DENSENET_TOWERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/context.h"
#include "core/status.h"
#include "core/thread_pool.h"
#include "densenet/network.h"
#include "memory/arena.h"
#include "parallel/parameter_store.h"
#include "parallel/tower_exchange.h"
#include "parallel/tower_gradients.h"

namespace densenet {

class Towers {
 public:
  struct Options {
    int towers = 2;
    int threads = 0;  // of all towers; 0: as many as the process may run on
    bool sync_batch_norm = false;
    // Of the whole batch; exchange and listener are set here.
    Network::Options network;
  };

  // `hosted` must outlive the towers.
  // Errors  InvalidArgument    towers < 1; see Network::Create
  //         ResourceExhausted  no room for gradients and statistics
  static StatusOr<std::unique_ptr<Towers>> Create(MemoryResource& resource,
                                                  const ModelConfig& config,
                                                  const Options& options,
                                                  ParameterStore& hosted);
  ~Towers();

  int count() const { return static_cast<int>(towers_.size()); }
  // Of tower t's arena.
  const MemoryPlan& plan(int t) const { return towers_[t]->network->plan(); }
  Schedule& schedule(int t) { return towers_[t]->network->schedule(); }
  void Bind(int t, Arena& arena) { towers_[t]->network->Bind(arena); }

  // As Network::TrainStep. `done` is told of each complete bucket of the hosted
  // gradients, from the last to the first, on some tower's thread.
  StatusOr<BatchResult> TrainStep(ConstTensorView images,
                                  absl::Span<const int32_t> labels,
                                  uint64_t seed, uint32_t step,
                                  TowerGradients::BucketDone done = nullptr);

 private:
  struct Tower {
    std::unique_ptr<Context> ctx;
    std::unique_ptr<ParameterStore> store;
    std::unique_ptr<Network> network;
    BatchResult result;
    Status status;
  };

  Towers(int towers, ParameterStore& hosted);
  void RunShare(int t, const BatchShare& share, ConstTensorView images,
                absl::Span<const int32_t> labels, uint64_t seed, uint32_t step);
  void AverageStatistics(const std::vector<BatchShare>& shares);

  ParameterStore& hosted_;
  bool sync_batch_norm_ = false;
  ThreadPool control_;  // one thread a tower
  TowerExchange exchange_;
  std::unique_ptr<TowerGradients> gradients_;
  std::vector<std::unique_ptr<Tower>> towers_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_TOWERS_H_
