// core/autograd/math.h
//
// Arithmetic and reductions on Vars. Contracts are those of
// core/ops/elementwise.h and core/ops/reduce.h; gradients for operands that
// were broadcast are summed over the repeated axes. Errors are the tape's.

#ifndef DENSENET_CORE_AUTOGRAD_MATH_H_
#define DENSENET_CORE_AUTOGRAD_MATH_H_

#include <vector>

#include "core/autograd/tape.h"

namespace densenet {

Var Add(Var a, Var b);
Var Subtract(Var a, Var b);
Var Multiply(Var a, Var b);
Var Negate(Var x);
Var Scale(Var x, float factor);

// Without axes: over all, giving (). Reduced axes vanish, or stay as 1.
Var ReduceSum(Var x, const std::vector<int>& axes = {}, bool keep_axes = false);
Var ReduceMean(Var x, const std::vector<int>& axes = {},
               bool keep_axes = false);
// sqrt(sum x^2) over all elements; its gradient at x = 0 is 0.
Var L2Norm(Var x);

// x itself, as a constant: gradients end here.
Var StopGradient(Var x);

}  // namespace densenet

#endif  // DENSENET_CORE_AUTOGRAD_MATH_H_
