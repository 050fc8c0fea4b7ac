// parallel/tower_gradients.h
//
// Adds the gradients of towers up into those of the hosted store. Every tower
// computes its part of the gradient of the mean loss over the whole batch, so
// the sum is the average weighted by examples, whatever the shares. Buckets of
// the flat array are added up as soon as the last tower has them, by that
// tower, while backward passes go on; the order of the sum is that of the
// towers, whoever does it.
//
// Shapes    the stores have the same parameters
// Numerics  sums in float32, tower 0 first: bitwise the same for the same
//           number of towers, whatever their timing
// Threads   each listener is for its tower's thread

#ifndef DENSENET_PARALLEL_TOWER_GRADIENTS_H_
#define DENSENET_PARALLEL_TOWER_GRADIENTS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/context.h"
#include "parallel/gradient_listener.h"
#include "parallel/parameter_store.h"

namespace densenet {

class TowerGradients {
 public:
  // Of the flat array, in cache while it is added up.
  static constexpr int64_t kBucketFloats = 64 * 1024;
  // Called once a bucket of the hosted gradients is complete, on the thread
  // that completed it.
  using BucketDone =
      std::function<void(const Context& ctx, int64_t begin, int64_t end)>;

  // `whole`: for each parameter, whether every tower has the gradient of the
  // whole batch already (batch norm's, synchronized): it is taken from tower
  // 0. Stores must outlive this.
  TowerGradients(ParameterStore& hosted, std::vector<ParameterStore*> towers,
                 const std::vector<bool>& whole);
  ~TowerGradients();
  TowerGradients(const TowerGradients&) = delete;
  TowerGradients& operator=(const TowerGradients&) = delete;

  // Before a step of the first `active` towers; `done` may be empty.
  void Begin(int active, BucketDone done);
  GradientListener* listener(int tower);
  // Whether the last step added all buckets up.
  bool complete() const { return remaining_.load() == 0; }

 private:
  class Listener;
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
    bool whole = false;
  };

  void Ready(int tower, int64_t bucket, const Context& ctx);
  void AddUp(const Context& ctx, int64_t begin, int64_t end);
  void AddUpRange(int64_t begin, int64_t end, int towers);

  ParameterStore& hosted_;
  const std::vector<ParameterStore*> towers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<Range> ranges_;  // of the flat array, in order
  int64_t buckets_ = 0;
  std::vector<std::atomic<int>> arrived_;  // towers, of each bucket
  std::atomic<int64_t> remaining_{0};      // buckets
  int active_ = 0;
  BucketDone done_;
};

}  // namespace densenet

#endif  // DENSENET_PARALLEL_TOWER_GRADIENTS_H_
