#include "densenet/largest_fitting.h"

namespace densenet {

StatusOr<int64_t> LargestFitting(
    int64_t most, absl::FunctionRef<StatusOr<bool>(int64_t)> fits) {
  int64_t good = 0;
  int64_t bad = most + 1;
  int64_t next = 1;
  while (bad - good > 1) {
    ASSIGN_OR_RETURN(const bool ok, fits(next));
    (ok ? good : bad) = next;
    next = bad > most && 2 * good <= most ? 2 * good : good + (bad - good) / 2;
  }
  return good;
}

}  // namespace densenet
