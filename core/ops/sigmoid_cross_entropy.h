// core/ops/sigmoid_cross_entropy.h
//
// The cross-entropy of independent probabilities sigmoid(x) against targets z,
// element by element, in a form that neither overflows nor cancels for large
// logits:
//   losses = max(x, 0) - x * z + log(1 + exp(-|x|))
//
// Shapes    all equal, any strides
// Types     float32; targets usually in [0, 1], which is not checked
// Memory    scratch: 0 bytes; an output may be an input
// Stream    CPU; Unimplemented elsewhere
// Errors    InvalidArgument  shapes, types or device
// Numerics  float64 within an element, rounded once
// Threads   safe for different Contexts; bitwise equal for every thread count

#ifndef DENSENET_CORE_OPS_SIGMOID_CROSS_ENTROPY_H_
#define DENSENET_CORE_OPS_SIGMOID_CROSS_ENTROPY_H_

#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

Status SigmoidCrossEntropy(const Context& ctx, ConstTensorView logits,
                           ConstTensorView targets, TensorView losses);

// dlogits = (sigmoid(x) - z) * dlosses. Targets are constants.
Status SigmoidCrossEntropyBackward(const Context& ctx, ConstTensorView logits,
                                   ConstTensorView targets,
                                   ConstTensorView dlosses, TensorView dlogits);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_SIGMOID_CROSS_ENTROPY_H_
