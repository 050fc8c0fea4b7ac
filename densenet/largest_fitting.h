// densenet/largest_fitting.h
//
// The largest number that still fits: a batch, a depth.

#ifndef DENSENET_DENSENET_LARGEST_FITTING_H_
#define DENSENET_DENSENET_LARGEST_FITTING_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "core/status.h"

namespace densenet {

// The largest n in [1, most] for which fits(n), by doubling and bisection; 0
// if not even 1 fits. `fits` is monotone; its first error ends the search.
StatusOr<int64_t> LargestFitting(
    int64_t most, absl::FunctionRef<StatusOr<bool>(int64_t)> fits);

}  // namespace densenet

#endif  // DENSENET_DENSENET_LARGEST_FITTING_H_
