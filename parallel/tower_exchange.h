// parallel/tower_exchange.h
//
// The PartialsExchange of towers that are threads of this process: each shows
// the others where its numbers are, all copy, all go on.
//
// Memory   a few words a tower; copies go straight from one tower's buffer into
//          the other's
// Threads  each member is for its tower's thread; Abort from anywhere

#ifndef DENSENET_PARALLEL_TOWER_EXCHANGE_H_
#define DENSENET_PARALLEL_TOWER_EXCHANGE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/status.h"
#include "parallel/partials_exchange.h"

namespace densenet {

class TowerExchange {
 public:
  explicit TowerExchange(int towers);
  ~TowerExchange();
  TowerExchange(const TowerExchange&) = delete;
  TowerExchange& operator=(const TowerExchange&) = delete;

  // The first `active` towers take part from now on. No tower may be in a
  // call; errors of before are forgotten.
  void Begin(int active);
  PartialsExchange* member(int tower);
  // Every call, waiting or yet to come, returns `status` until Begin.
  void Abort(const Status& status);

 private:
  class Member;
  // Returns when all active towers have called it.
  Status Meet();

  std::vector<std::unique_ptr<Member>> members_;
  std::mutex mutex_;
  std::condition_variable all_met_;
  int active_ = 0;
  int waiting_ = 0;
  Status aborted_;
  // Moves on when all have met or someone gave up.
  std::atomic<uint64_t> generation_{0};
};

}  // namespace densenet

#endif  // DENSENET_PARALLEL_TOWER_EXCHANGE_H_
