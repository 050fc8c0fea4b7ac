#include "densenet/run_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "densenet/metrics_csv.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::testing::ElementsAre;

// Writes what it is told into a list, and fails when it is told to.
class Witness final : public RunObserver {
 public:
  Witness(std::string name, bool fails, std::vector<std::string>* seen)
      : name_(std::move(name)), fails_(fails), seen_(seen) {}
  Status StepDone(const StepRecord& step) override {
    return Note("step " + std::to_string(step.step));
  }
  Status EpochDone(const EpochMetrics& metrics) override {
    return Note("epoch " + std::to_string(metrics.epoch));
  }
  Status Sync() override { return Note("sync"); }

 private:
  Status Note(const std::string& what) {
    seen_->push_back(name_ + " " + what);
    return fails_ ? ResourceExhausted(name_ + ": disk full") : OkStatus();
  }

  const std::string name_;
  const bool fails_;
  std::vector<std::string>* const seen_;
};

TEST(RunObserversTest, AreToldInTurn) {
  std::vector<std::string> seen;
  RunObservers observers;
  observers.Add(std::make_unique<Witness>("a", false, &seen));
  observers.Add(std::make_unique<Witness>("b", false, &seen));
  EpochMetrics metrics;
  metrics.epoch = 4;
  EXPECT_OK(observers.StepDone({.step = 7}));
  EXPECT_OK(observers.EpochDone(metrics));
  EXPECT_OK(observers.Sync());
  EXPECT_THAT(seen, ElementsAre("a step 7", "b step 7", "a epoch 4",
                                "b epoch 4", "a sync", "b sync"));
}

TEST(RunObserversTest, StopAtTheFirstError) {
  std::vector<std::string> seen;
  RunObservers observers;
  observers.Add(std::make_unique<Witness>("a", true, &seen));
  observers.Add(std::make_unique<Witness>("b", false, &seen));
  EXPECT_THAT(observers.Sync(),
              Fails(StatusCode::kResourceExhausted, {"a: disk full"}));
  EXPECT_THAT(seen, ElementsAre("a sync"));
}

}  // namespace
}  // namespace densenet
