// densenet/run_observer.h
//
// What watches a training run and changes nothing of it: the rows of
// metrics.csv (MetricsCsv), TensorBoard's event files (EventLog). Train() tells
// them what happened, in this order: steps, the end of their epoch, Sync()
// before each checkpoint. A run that goes on from a checkpoint tells again what
// came after it, so an observer drops that when it opens what it wrote before.
//
// Errors   what the system said; an error ends the run, as it would where a
//          checkpoint cannot be written
// Threads  one thread of control

#ifndef DENSENET_DENSENET_RUN_OBSERVER_H_
#define DENSENET_DENSENET_RUN_OBSERVER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/status.h"

namespace densenet {

struct EpochMetrics;

// One training step that was done.
struct StepRecord {
  int64_t step = 0;  // global; 1 for the first
  double loss = 0;   // the mean of its batch, before its update
  double learning_rate = 0;
};

class RunObserver {
 public:
  virtual ~RunObserver() = default;

  virtual Status StepDone(const StepRecord&) { return OkStatus(); }
  virtual Status EpochDone(const EpochMetrics&) { return OkStatus(); }
  // Puts what was observed so far on disk: a checkpoint is about to be written,
  // and a run that goes on from it does not tell it again.
  virtual Status Sync() { return OkStatus(); }
};

// Tells each of several in turn, up to the first error.
class RunObservers final : public RunObserver {
 public:
  void Add(std::unique_ptr<RunObserver> observer) {
    observers_.push_back(std::move(observer));
  }

  Status StepDone(const StepRecord& step) override {
    return Tell([&](RunObserver& o) { return o.StepDone(step); });
  }
  Status EpochDone(const EpochMetrics& metrics) override {
    return Tell([&](RunObserver& o) { return o.EpochDone(metrics); });
  }
  Status Sync() override {
    return Tell([](RunObserver& o) { return o.Sync(); });
  }

 private:
  template <typename Fn>
  Status Tell(Fn tell) {
    for (const std::unique_ptr<RunObserver>& observer : observers_) {
      RETURN_IF_ERROR(tell(*observer));
    }
    return OkStatus();
  }

  std::vector<std::unique_ptr<RunObserver>> observers_;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_RUN_OBSERVER_H_
