#include "memory/schedule.h"

#include <glog/logging.h>

#include <chrono>
#include <cstring>
#include <utility>

namespace densenet {

BufferId Schedule::Declare(std::string_view name, BufferKind kind,
                           int64_t bytes) {
  CHECK_GE(bytes, 0) << name;
  PlannedBuffer buffer;
  buffer.name = name;
  buffer.kind = kind;
  buffer.bytes = bytes;
  buffer.first_use = -1;
  buffers_.push_back(std::move(buffer));
  return {static_cast<int64_t>(buffers_.size()) - 1};
}

void Schedule::Add(Task task) {
  const int64_t index = static_cast<int64_t>(tasks_.size());
  for (BufferId id : task.buffers) {
    CHECK(id.valid()) << task.name << " names a buffer never declared";
    PlannedBuffer& buffer = buffers_[id.index];
    if (buffer.first_use < 0) buffer.first_use = index;
    buffer.last_use = index;
  }
  tasks_.push_back(std::move(task));
}

void Schedule::SetFiniteOfLast(std::function<bool(const Step&)> finite) {
  CHECK(!tasks_.empty());
  tasks_.back().finite = std::move(finite);
}

MemoryPlan Schedule::Plan() const {
  for (const PlannedBuffer& buffer : buffers_) {
    CHECK_GE(buffer.first_use, 0) << buffer.name << " is used by no task";
  }
  return MemoryPlan::Place(buffers_);
}

void Schedule::Bind(const MemoryPlan& plan, char* arena) {
  CHECK_EQ(buffers_.size(), plan.buffers().size());
  addresses_.resize(buffers_.size());
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const PlannedBuffer& planned = plan.buffers()[i];
    CHECK(planned.offset_bytes >= 0 && planned.name == buffers_[i].name);
    addresses_[i] = arena + planned.offset_bytes;
  }
}

void Schedule::Poison(int64_t task, bool before) const {
  constexpr int kNanByte = 0xFF;  // four of them are a NaN
  for (BufferId id : tasks_[task].buffers) {
    const PlannedBuffer& buffer = buffers_[id.index];
    if ((before ? buffer.first_use : buffer.last_use) == task) {
      std::memset(addresses_[id.index], kNanByte, buffer.bytes);
    }
  }
}

Status Schedule::RunTask(int64_t task, const Step& step) const {
  if (poison_) Poison(task, true);
  const auto begin = std::chrono::steady_clock::now();
  if (Status status = tasks_[task].run(step); !status.ok()) {
    return Annotate(status, tasks_[task].name);
  }
  if (observer_) {
    observer_(task, std::chrono::duration<double>(
                        std::chrono::steady_clock::now() - begin)
                        .count());
  }
  if (poison_) Poison(task, false);
  return OkStatus();
}

Status Schedule::Run(Step step) const {
  CHECK_EQ(addresses_.size(), buffers_.size()) << "Run before Bind";
  step.addresses_ = addresses_.data();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    RETURN_IF_ERROR(RunTask(static_cast<int64_t>(i), step));
  }
  return OkStatus();
}

StatusOr<int64_t> Schedule::RunUntilNonFinite(Step step) const {
  CHECK_EQ(addresses_.size(), buffers_.size()) << "Run before Bind";
  step.addresses_ = addresses_.data();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const int64_t index = static_cast<int64_t>(i);
    RETURN_IF_ERROR(RunTask(index, step));
    if (tasks_[i].finite && !tasks_[i].finite(step)) return index;
  }
  return -1;
}

}  // namespace densenet
