#include "core/context.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <sched.h>

#include <algorithm>

#include "core/cuda/cuda.h"

namespace densenet {

int AvailableCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

Context::Context(const Options& options) : options_(options) {}
Context::~Context() = default;

StatusOr<std::unique_ptr<Context>> Context::Create(const Options& options) {
  if (options.threads < 0) {
    return InvalidArgument(fmt::format(
        "threads is {}: expected 0 (all) or more", options.threads));
  }
  Options resolved = options;
  if (resolved.threads == 0) resolved.threads = AvailableCpus();
  std::unique_ptr<Context> context(new Context(resolved));
  context->threads_ = std::make_unique<ThreadPool>(resolved.threads);
  if (resolved.device.is_cuda()) {
    ASSIGN_OR_RETURN(context->cuda_, CreateCudaState(resolved.device));
  }
  return context;
}

CudaState& Context::cuda() const {
  CHECK(cuda_ != nullptr) << "Context is on " << device().ToString();
  return *cuda_;
}

}  // namespace densenet
