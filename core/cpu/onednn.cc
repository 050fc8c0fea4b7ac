#include "core/cpu/onednn.h"

#include <fmt/format.h>
#include <omp.h>

namespace densenet {

SingleOpenMpThread::SingleOpenMpThread()
    : saved_threads_(omp_get_max_threads()) {
  omp_set_num_threads(1);
}

SingleOpenMpThread::~SingleOpenMpThread() {
  omp_set_num_threads(saved_threads_);
}

Status OneDnnStatus(std::string_view op, const dnnl::error& error) {
  const std::string message =
      fmt::format("{}: oneDNN: {} (dnnl_status_t {})", op, error.what(),
                  static_cast<int>(error.status));
  switch (error.status) {
    case dnnl_out_of_memory:
      return ResourceExhausted(message);
    case dnnl_unimplemented:
      return Unimplemented(message);
    default:
      return Internal(message);
  }
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

}  // namespace densenet
