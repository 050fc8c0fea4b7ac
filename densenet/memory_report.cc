#include "densenet/memory_report.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "core/optim/optimizer.h"
#include "densenet/largest_fitting.h"
#include "densenet/network.h"
#include "densenet/synthetic_batch.h"
#include "densenet/training_plan.h"
#include "memory/host_memory.h"

namespace densenet {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int kSlots = 1;  // momentum

// What the child sends back, followed by a message when it failed.
struct Measurement {
  StatusCode code = StatusCode::kUnknown;
  int64_t measured_bytes = 0;
  int64_t resident_bytes = 0;
};

// A line of /proc/self/status, "VmHWM:   123 kB", in bytes.
int64_t ProcessStatusBytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == key) {
      int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

Status RunTrainingSteps(const ModelConfig& model, int threads, int steps,
                        const MemoryRow& row, HostMemory& memory) {
  ASSIGN_OR_RETURN(auto ctx, Context::Create({.threads = threads}));
  ASSIGN_OR_RETURN(const SyntheticBatch batch,
                   SyntheticBatch::Create(memory, model, row.batch, kSeed));
  ASSIGN_OR_RETURN(auto optimizer, Optimizer::Create({.name = "momentum"}));
  ASSIGN_OR_RETURN(auto store,
                   ParameterStore::Create(memory, ParameterSpecs(model),
                                          StatisticsSpecs(model), kSlots));
  store->Initialize(*ctx, kSeed);
  ASSIGN_OR_RETURN(auto network, Network::Create(*ctx, model,
                                                 {Network::Mode::kTrain,
                                                  row.strategy, row.batch},
                                                 *store));
  ASSIGN_OR_RETURN(Arena arena,
                   Arena::Create(memory, network->plan().arena_bytes()));
  network->Bind(arena);
  const std::vector<absl::Span<float>> slots = {store->slot(0)};
  constexpr float kLearningRate = 0.01f;
  for (int s = 0; s < steps; ++s) {
    RETURN_IF_ERROR(network
                        ->TrainStep(batch.images(), batch.labels(), kSeed,
                                    static_cast<uint32_t>(s))
                        .status());
    optimizer->Update(*ctx, kLearningRate, store->values(), store->gradients(),
                      slots);
  }
  return OkStatus();
}

// Runs in the child; never returns.
[[noreturn]] void RunChild(const ModelConfig& model, int threads, int steps,
                           const MemoryRow& row, int fd) {
  const int64_t before = ProcessStatusBytes("VmRSS:");
  HostMemory memory;
  const Status status = RunTrainingSteps(model, threads, steps, row, memory);
  Measurement result;
  result.code = status.code();
  result.measured_bytes = memory.stats().peak_bytes;
  result.resident_bytes = ProcessStatusBytes("VmHWM:") - before;
  std::string message(reinterpret_cast<const char*>(&result), sizeof(result));
  message += StdView(status.message());
  const char* from = message.data();
  size_t left = message.size();
  while (left > 0) {
    const ssize_t written = write(fd, from, left);
    if (written < 0) _exit(1);
    from += written;
    left -= static_cast<size_t>(written);
  }
  _exit(0);
}

std::string ReadAll(int fd) {
  std::string bytes;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

StatusOr<MemoryRow> PlanMemory(const Context& ctx, const ModelConfig& model,
                               Strategy strategy, int64_t batch) {
  ASSIGN_OR_RETURN(auto layout,
                   ParameterStore::CreateLayout(ParameterSpecs(model),
                                                StatisticsSpecs(model)));
  ASSIGN_OR_RETURN(
      auto network,
      Network::Create(ctx, model, {Network::Mode::kTrain, strategy, batch},
                      *layout));
  const MemoryPlan& plan = network->plan();
  MemoryRow row;
  row.strategy = strategy;
  row.depth = DepthOf(model);
  row.growth_rate = model.growth_rate;
  row.batch = batch;
  row.activation_bytes = plan.arena_bytes();
  row.feature_bytes = plan.bytes_at_peak(BufferKind::kFeatures);
  row.stored_bytes = plan.bytes_at_peak(BufferKind::kStored);
  row.gradient_bytes = plan.bytes_at_peak(BufferKind::kGradients);
  row.scratch_bytes = row.activation_bytes - row.feature_bytes -
                      row.stored_bytes - row.gradient_bytes;
  row.parameter_bytes = ParameterBytes(model);
  row.optimizer_bytes = OptimizerBytes(model, kSlots);
  row.input_bytes = SyntheticBatch::PlannedBytes(model, batch);
  row.planned_bytes = row.activation_bytes + row.parameter_bytes +
                      row.optimizer_bytes + row.input_bytes;
  return row;
}

Status MeasureMemory(const ModelConfig& model, int threads, int steps,
                     MemoryRow* row) {
  int ends[2];
  if (pipe(ends) != 0) {
    return Unavailable(
        fmt::format("cannot measure memory: pipe: {}", std::strerror(errno)));
  }
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return Unavailable(
        fmt::format("cannot measure memory: fork: {}", std::strerror(errno)));
  }
  if (child == 0) {
    close(ends[0]);
    RunChild(model, threads, steps, *row, ends[1]);
  }
  close(ends[1]);
  const std::string bytes = ReadAll(ends[0]);
  close(ends[0]);
  int exit_status = 0;
  while (waitpid(child, &exit_status, 0) < 0 && errno == EINTR) {
  }
  Measurement result;
  if (bytes.size() < sizeof(result)) {
    return ResourceExhausted(fmt::format(
        "measuring {} at batch {} ended without a result ({}); planned were {} "
        "bytes: is that much memory free?",
        Name(row->strategy), row->batch,
        WIFSIGNALED(exit_status)
            ? fmt::format("killed by signal {}", WTERMSIG(exit_status))
            : fmt::format("exit status {}", WEXITSTATUS(exit_status)),
        row->planned_bytes));
  }
  std::memcpy(&result, bytes.data(), sizeof(result));
  if (result.code != StatusCode::kOk) {
    return Status(result.code, fmt::format("measuring {} at batch {}: {}",
                                           Name(row->strategy), row->batch,
                                           bytes.substr(sizeof(result))));
  }
  row->measured_bytes = result.measured_bytes;
  row->resident_bytes = result.resident_bytes;
  return OkStatus();
}

StatusOr<int64_t> LargestBatch(const Context& ctx, const ModelConfig& model,
                               Strategy strategy, int64_t most,
                               int64_t budget_bytes) {
  return LargestFitting(most, [&](int64_t batch) -> StatusOr<bool> {
    ASSIGN_OR_RETURN(const MemoryRow row,
                     PlanMemory(ctx, model, strategy, batch));
    return row.planned_bytes <= budget_bytes;
  });
}

StatusOr<int64_t> LargestIndex(
    const Context& ctx, const std::function<ModelConfig(int64_t)>& family,
    Strategy strategy, int64_t batch, int64_t most, int64_t budget_bytes) {
  return LargestFitting(most, [&](int64_t index) -> StatusOr<bool> {
    ASSIGN_OR_RETURN(const MemoryRow row,
                     PlanMemory(ctx, family(index), strategy, batch));
    return row.planned_bytes <= budget_bytes;
  });
}

}  // namespace densenet
