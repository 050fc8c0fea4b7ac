// core/autograd/shaping.h
//
// Other shapes of Vars. Contracts are those of core/ops/views.h and concat.h;
// results are views where the elements stay rows at equal distances, and packed
// copies otherwise. Errors are the tape's.

#ifndef DENSENET_CORE_AUTOGRAD_SHAPING_H_
#define DENSENET_CORE_AUTOGRAD_SHAPING_H_

#include <vector>

#include "absl/types/span.h"
#include "core/autograd/tape.h"

namespace densenet {

// One extent may be -1.
Var Reshape(Var x, const Shape& to);
// The elements [begin[a], begin[a] + size[a]) of every axis a; a size of -1
// reaches to the end.
Var Slice(Var x, const Shape& begin, const Shape& size);
// Axis a of the result is axis permutation[a] of x.
Var Transpose(Var x, const std::vector<int>& permutation);
Var Concat(absl::Span<const Var> xs, int axis);

}  // namespace densenet

#endif  // DENSENET_CORE_AUTOGRAD_SHAPING_H_
