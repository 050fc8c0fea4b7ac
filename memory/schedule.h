// memory/schedule.h
//
// A step as a static list of tasks over declared buffers. Modules append their
// tasks in the order of execution and name the buffers that each one touches;
// from that list alone follow the lifetimes, the memory plan and the run, so
// what is planned is what is executed. Tasks find their memory through the
// Step they are given: the same task runs wherever the arena lies.
//
//   Schedule schedule;
//   BufferId z = schedule.Declare("z", BufferKind::kScratch, bytes);
//   schedule.Add({"relu", "forward", {z}, [=](const Step& step) {
//     return Relu(..., step.Data<float>(z)); }});
//   MemoryPlan plan = schedule.Plan();

#ifndef DENSENET_MEMORY_SCHEDULE_H_
#define DENSENET_MEMORY_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "memory/plan.h"

namespace densenet {

// Names a declared buffer; a default one names none.
struct BufferId {
  int64_t index = -1;
  bool valid() const { return index >= 0; }
};

// The images of a step among those of its batch, which towers share: images
// [first_image, first_image + images) of batch_images. Partial results are of
// chunks of images; the share is a whole number of them.
struct BatchShare {
  int64_t first_image = 0;
  int64_t images = 0;
  int64_t batch_images = 0;
  int64_t first_chunk = 0;
  int64_t chunks = 0;
  int64_t batch_chunks = 0;
};

// What differs from step to step, and where the buffers are.
class Step {
 public:
  int64_t images = 0;               // of this share; at most the planned number
  BatchShare share;                 // share.images == images
  uint64_t seed = 0;                // of the run's random numbers
  uint32_t number = 0;              // global step
  const float* input = nullptr;     // (images, H, W, C), packed
  const int32_t* labels = nullptr;  // (images), may be null in prediction

  template <typename T>
  T* Data(BufferId id) const {
    return reinterpret_cast<T*>(addresses_[id.index]);
  }

 private:
  friend class Schedule;
  char* const* addresses_ = nullptr;
};

struct Task {
  std::string name;               // "denseblock1.denselayer3.conv1"
  std::string phase;              // what a profile sums over: "forward conv1"
  std::vector<BufferId> buffers;  // all that the task reads or writes
  std::function<Status(const Step&)> run;
  // Whether what the task wrote are finite numbers; may be empty. Asked by
  // RunUntilNonFinite alone.
  std::function<bool(const Step&)> finite = nullptr;
};

class Schedule {
 public:
  BufferId Declare(std::string_view name, BufferKind kind, int64_t bytes);
  // CHECKs that every buffer was declared.
  void Add(Task task);
  // Of the task added last.
  void SetFiniteOfLast(std::function<bool(const Step&)> finite);

  // CHECKs that every buffer is used by some task.
  MemoryPlan Plan() const;
  // Where the plan's buffers lie from now on. `arena` must hold
  // plan.arena_bytes() bytes and outlive the runs.
  void Bind(const MemoryPlan& plan, char* arena);
  // Runs all tasks in order; stops at the first error, annotated with the
  // task's name. CHECKs that Bind was called.
  Status Run(Step step) const;
  // Runs tasks until the output of one is not finite: the index of that task,
  // -1 if all were run.
  StatusOr<int64_t> RunUntilNonFinite(Step step) const;

  // Fills a buffer with NaNs before its first and after its last task, so
  // that a read outside its planned life shows. For tests.
  void set_poison(bool poison) { poison_ = poison; }
  // Called after each task with its index and seconds; for profiles.
  using Observer = std::function<void(int64_t task, double seconds)>;
  void set_observer(Observer observer) { observer_ = std::move(observer); }

  const std::vector<Task>& tasks() const { return tasks_; }
  // Where a buffer lies after Bind; for observers that look at results.
  const void* Address(BufferId id) const { return addresses_[id.index]; }

 private:
  Status RunTask(int64_t task, const Step& step) const;
  void Poison(int64_t task, bool before) const;

  std::vector<PlannedBuffer> buffers_;
  std::vector<Task> tasks_;
  std::vector<char*> addresses_;
  Observer observer_;
  bool poison_ = false;
};

}  // namespace densenet

#endif  // DENSENET_MEMORY_SCHEDULE_H_
