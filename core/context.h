// core/context.h
//
// What an operation runs on: the device, and its threads or stream. Passed
// explicitly; there are no globals.
//
// Threads  one Context serves one thread of control at a time

#ifndef DENSENET_CORE_CONTEXT_H_
#define DENSENET_CORE_CONTEXT_H_

#include <memory>

#include "core/device.h"
#include "core/status.h"
#include "core/thread_pool.h"

namespace densenet {

class CudaState;  // core/cuda/cuda_state.h: stream and library handles

class Context {
 public:
  struct Options {
    Device device = Device::Cpu();
    int threads = 0;  // of the CPU; 0: as many as the process may run on
    // Only algorithms with a fixed order of sums. Turning it off permits
    // atomics and non-deterministic cuDNN algorithms.
    bool deterministic = true;
    // CUDA: synchronize after each launch, so that a fault is reported by the
    // launch that caused it.
    bool synchronize_launches = false;
  };

  // Errors  InvalidArgument  threads < 0
  //         Unimplemented    a CUDA device in a build without CUDA
  //         Unavailable      no such CUDA device, or it cannot be used
  static StatusOr<std::unique_ptr<Context>> Create(const Options& options);
  ~Context();

  Device device() const { return options_.device; }
  bool deterministic() const { return options_.deterministic; }
  bool synchronize_launches() const { return options_.synchronize_launches; }
  ThreadPool& threads() const { return *threads_; }
  // CHECKs that the device is a CUDA device.
  CudaState& cuda() const;

 private:
  explicit Context(const Options& options);

  Options options_;
  std::unique_ptr<ThreadPool> threads_;
  std::shared_ptr<CudaState> cuda_;  // shared: deletes an incomplete type
};

// The CPUs this process may run on (its affinity mask), at least 1.
int AvailableCpus();

}  // namespace densenet

#endif  // DENSENET_CORE_CONTEXT_H_
