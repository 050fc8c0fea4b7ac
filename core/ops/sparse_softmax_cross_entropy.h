// core/ops/sparse_softmax_cross_entropy.h
//
// The cross-entropy of softmax(logits) against one class per row:
// losses[n] = log(sum_c exp(logits[n, c])) - sum_c t[n, c] * logits[n, c]
// where t is 1 at labels[n], or with label smoothing e (Szegedy et al.,
// "Rethinking the inception architecture", CVPR 2016)
// t[n, c] = (1 - e) * [c = labels[n]] + e / C.
//
// Shapes    logits, dlogits (N, C), row-strided; labels, losses, dlosses (N),
//           any stride: dlosses of stride 0 is one factor for all rows, 1 / N
//           for the gradient of the mean loss
// Types     labels int32 in [0, C); the others float32
// Memory    scratch: 0 bytes; dlogits may be logits
// Stream    CPU; Unimplemented elsewhere
// Errors    InvalidArgument  a label out of range (names label and row; nothing
//                            is written); shapes, types, strides or device;
//                            label smoothing outside [0, 1)
// Numerics  sums of C terms in float64; never overflows
// Threads   safe for different Contexts; bitwise equal for every thread count

#ifndef DENSENET_CORE_OPS_SPARSE_SOFTMAX_CROSS_ENTROPY_H_
#define DENSENET_CORE_OPS_SPARSE_SOFTMAX_CROSS_ENTROPY_H_

#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

struct CrossEntropyParams {
  double label_smoothing = 0;
};

// One loss per row; ReduceMean gives their mean.
Status SparseSoftmaxCrossEntropy(const Context& ctx, ConstTensorView logits,
                                 ConstTensorView labels, TensorView losses,
                                 const CrossEntropyParams& params = {});

// dlogits[n, c] = (softmax(logits)[n, c] - t[n, c]) * dlosses[n]
Status SparseSoftmaxCrossEntropyBackward(const Context& ctx,
                                         ConstTensorView logits,
                                         ConstTensorView labels,
                                         ConstTensorView dlosses,
                                         TensorView dlogits,
                                         const CrossEntropyParams& params = {});

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_SPARSE_SOFTMAX_CROSS_ENTROPY_H_
