// core/cpu/onednn.h
//
// How this code base calls oneDNN: single-threaded, from inside our own
// threads, each on its own chunk. oneDNN promises nothing when its thread count
// changes and, built with OpenMP, would start a team under each of our threads.
//
// Included by .cc files of the CPU backend only.

#ifndef DENSENET_CORE_CPU_ONEDNN_H_
#define DENSENET_CORE_CPU_ONEDNN_H_

#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

#include "core/status.h"

namespace densenet {

// While it lives, OpenMP regions that the calling thread enters run on that
// thread alone; afterwards the thread's setting is what it was. Needed where
// primitives are created too, since they are tuned for the number of threads.
class SingleOpenMpThread {
 public:
  SingleOpenMpThread();
  ~SingleOpenMpThread();
  SingleOpenMpThread(const SingleOpenMpThread&) = delete;
  SingleOpenMpThread& operator=(const SingleOpenMpThread&) = delete;

 private:
  int saved_threads_;
};

// The library's exceptions as Status, in this one place.
//   ResourceExhausted  out of memory
//   Unimplemented      no implementation for this problem
//   Internal           anything else
Status OneDnnStatus(std::string_view op, const dnnl::error& error);

// Calls fn(), which returns a Status or StatusOr, and turns a dnnl::error into
// one.
template <typename Fn>
auto CatchOneDnn(std::string_view op, const Fn& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const dnnl::error& error) {
    return OneDnnStatus(op, error);
  }
}

// Scratch of primitives is ours to give.
dnnl::primitive_attr UserScratchpad();

}  // namespace densenet

#endif  // DENSENET_CORE_CPU_ONEDNN_H_
