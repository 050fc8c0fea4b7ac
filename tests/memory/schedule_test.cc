#include "memory/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/memory_resource.h"
#include "memory/arena.h"
#include "memory/host_memory.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

Status DoNothing(const Step&) { return OkStatus(); }

// A schedule with an arena of its own.
class ScheduleTest : public ::testing::Test {
 protected:
  BufferId Declare(const char* name, int64_t floats) {
    return schedule_.Declare(name, BufferKind::kScratch,
                             floats * int64_t{sizeof(float)});
  }
  Status PlanAndRun(const Step& step = {}) {
    plan_ = schedule_.Plan();
    StatusOr<Arena> arena = Arena::Create(memory_, plan_.arena_bytes());
    RETURN_IF_ERROR(arena.status());
    schedule_.Bind(plan_, arena->base());
    return schedule_.Run(step);
  }

  HostMemory memory_;
  Schedule schedule_;
  MemoryPlan plan_;
};

TEST_F(ScheduleTest, LifetimesFollowTheTasks) {
  const BufferId a = Declare("a", 10);
  const BufferId b = Declare("b", 20);
  const BufferId c = Declare("c", 30);
  schedule_.Add({"t0", "", {b}, DoNothing});
  schedule_.Add({"t1", "", {a, b}, DoNothing});
  schedule_.Add({"t2", "", {}, DoNothing});
  schedule_.Add({"t3", "", {c, a, c}, DoNothing});
  schedule_.Add({"t4", "", {c}, DoNothing});
  const MemoryPlan plan = schedule_.Plan();
  ASSERT_EQ(plan.buffers().size(), 3u);
  const std::vector<std::vector<int64_t>> uses = {{1, 3}, {0, 1}, {3, 4}};
  const std::vector<std::string> names = {"a", "b", "c"};
  for (size_t i = 0; i < uses.size(); ++i) {
    EXPECT_EQ(plan.buffers()[i].name, names[i]);
    EXPECT_EQ(plan.buffers()[i].first_use, uses[i][0]) << names[i];
    EXPECT_EQ(plan.buffers()[i].last_use, uses[i][1]) << names[i];
  }
  EXPECT_EQ(plan.buffers()[2].bytes, 120);
  // b and c share: never alive together.
  EXPECT_EQ(plan.buffers()[1].offset_bytes, plan.buffers()[2].offset_bytes);
}

TEST_F(ScheduleTest, RunsTasksInOrderAndPassesTheStep) {
  const BufferId a = Declare("a", 1);
  std::vector<int64_t> seen;
  for (int64_t t = 0; t < 4; ++t) {
    schedule_.Add({"t", "", {a}, [&seen, a, t](const Step& step) {
                     if (t == 0) *step.Data<float>(a) = 0;
                     *step.Data<float>(a) += 1;
                     seen.push_back(t);
                     EXPECT_EQ(*step.Data<float>(a), t + 1);
                     EXPECT_EQ(step.images, 5);
                     EXPECT_EQ(step.seed, 6u);
                     EXPECT_EQ(step.number, 7u);
                     return OkStatus();
                   }});
  }
  std::vector<int64_t> observed;
  schedule_.set_observer([&](int64_t task, double seconds) {
    EXPECT_GE(seconds, 0);
    EXPECT_EQ(seen.back(), task);
    observed.push_back(task);
  });
  Step step;
  step.images = 5;
  step.seed = 6;
  step.number = 7;
  ASSERT_OK(PlanAndRun(step));
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(observed, seen);
}

TEST_F(ScheduleTest, StopsAtTheFirstErrorAndNamesTheTask) {
  bool ran_after = false;
  schedule_.Add({"block1.conv", "forward", {}, DoNothing});
  schedule_.Add({"block1.pool", "forward", {}, [](const Step&) {
                   return InvalidArgument("x has C=48");
                 }});
  schedule_.Add({"block1.norm", "forward", {}, [&](const Step&) {
                   ran_after = true;
                   return OkStatus();
                 }});
  EXPECT_THAT(PlanAndRun(), testing::Fails(StatusCode::kInvalidArgument,
                                           {"block1.pool: x has C=48"}));
  EXPECT_FALSE(ran_after);
}

TEST_F(ScheduleTest, BindSaysWhereBuffersLie) {
  const BufferId a = Declare("a", 100);
  const BufferId b = Declare("b", 50);
  std::vector<char*> addresses;
  schedule_.Add({"t", "", {a, b}, [&](const Step& step) {
                   addresses = {step.Data<char>(a), step.Data<char>(b)};
                   return OkStatus();
                 }});
  const MemoryPlan plan = schedule_.Plan();
  for (int i = 0; i < 2; ++i) {
    StatusOr<Arena> arena = Arena::Create(memory_, plan.arena_bytes());
    ASSERT_OK(arena);
    schedule_.Bind(plan, arena->base());
    ASSERT_OK(schedule_.Run({}));
    EXPECT_EQ(addresses[0], arena->base() + plan.buffers()[0].offset_bytes);
    EXPECT_EQ(addresses[1], arena->base() + plan.buffers()[1].offset_bytes);
  }
}

// Task 0 writes a, task 1 is its last user; task 2 reads it without saying so.
class PoisonTest : public ScheduleTest,
                   public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    const BufferId a = Declare("a", 3);
    const BufferId b = Declare("b", 3);
    schedule_.Add({"early", "", {}, [this, a](const Step& step) {
                     if (number_ > 0) early_ = step.Data<float>(a)[2];
                     return OkStatus();
                   }});
    schedule_.Add({"write", "", {a}, [this, a](const Step& step) {
                     first_ = step.Data<float>(a)[0];
                     for (int i = 0; i < 3; ++i) step.Data<float>(a)[i] = 7;
                     return OkStatus();
                   }});
    schedule_.Add({"read", "", {a, b}, [this, a, b](const Step& step) {
                     inside_ = step.Data<float>(a)[2];
                     step.Data<float>(b)[0] = 1;
                     return OkStatus();
                   }});
    schedule_.Add({"late", "", {b}, [this, a](const Step& step) {
                     late_ = step.Data<float>(a)[2];
                     return OkStatus();
                   }});
    schedule_.set_poison(GetParam());
    plan_ = schedule_.Plan();
    StatusOr<Arena> arena = Arena::Create(memory_, plan_.arena_bytes());
    ASSERT_OK(arena);
    schedule_.Bind(plan_, arena->base());
    for (number_ = 0; number_ < 2; ++number_) ASSERT_OK(schedule_.Run({}));
  }

  int number_ = 0;
  float early_ = 0, first_ = 0, inside_ = 0, late_ = 0;
};

TEST_P(PoisonTest, ShowsReadsOutsideThePlannedLife) {
  EXPECT_EQ(inside_, 7);
  EXPECT_EQ(std::isnan(early_), GetParam());
  EXPECT_EQ(std::isnan(first_), GetParam());
  EXPECT_EQ(std::isnan(late_), GetParam());
  if (!GetParam()) {
    EXPECT_EQ(late_, 7);
  }
}

INSTANTIATE_TEST_SUITE_P(OnAndOff, PoisonTest, ::testing::Bool());

using ScheduleDeathTest = ScheduleTest;

TEST_F(ScheduleDeathTest, MisuseIsOurBug) {
  EXPECT_DEATH(schedule_.Add({"relu", "", {BufferId()}, DoNothing}),
               "relu names a buffer never declared");
  const BufferId a = Declare("a", 1);
  EXPECT_DEATH(schedule_.Plan(), "a is used by no task");
  schedule_.Add({"t", "", {a}, DoNothing});
  EXPECT_DEATH(schedule_.Run({}).IgnoreError(), "Run before Bind");
}

TEST_F(ScheduleTest, RunUntilNonFiniteStopsAtTheFirstSuchOutput) {
  const BufferId y = Declare("y", 1);
  std::vector<int> ran;
  for (int task = 0; task < 4; ++task) {
    schedule_.Add({"task", "test", {y}, [=, &ran](const Step& step) {
                     ran.push_back(task);
                     *step.Data<float>(y) = task < 2 ? 1.0f : NAN;
                     return OkStatus();
                   }});
    if (task == 0) continue;  // nobody looks
    schedule_.SetFiniteOfLast(
        [=](const Step& step) { return std::isfinite(*step.Data<float>(y)); });
  }
  ASSERT_OK(PlanAndRun());
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2, 3}));
  ran.clear();
  StatusOr<Arena> arena = Arena::Create(memory_, plan_.arena_bytes());
  ASSERT_OK(arena);
  schedule_.Bind(plan_, arena->base());
  EXPECT_EQ(*schedule_.RunUntilNonFinite({}), 2);
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace densenet
