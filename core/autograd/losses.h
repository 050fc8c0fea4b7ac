// core/autograd/losses.h
//
// Probabilities and losses on Vars. Contracts are those of core/ops/softmax.h,
// sparse_softmax_cross_entropy.h and sigmoid_cross_entropy.h. Errors are the
// tape's.

#ifndef DENSENET_CORE_AUTOGRAD_LOSSES_H_
#define DENSENET_CORE_AUTOGRAD_LOSSES_H_

#include "core/autograd/tape.h"
#include "core/ops/sparse_softmax_cross_entropy.h"

namespace densenet {

Var Softmax(Var x);
// logits (N, C), labels (N) int32 -> one loss per row, (N). Weights of classes
// are a product with a weight for each row.
Var SparseSoftmaxCrossEntropy(Var logits, Var labels,
                              const CrossEntropyParams& params = {});
// The mean over the rows, ().
Var MeanSparseSoftmaxCrossEntropy(Var logits, Var labels,
                                  const CrossEntropyParams& params = {});
// Element by element. Targets have no gradient: pass StopGradient of those
// that depend on variables.
Var SigmoidCrossEntropy(Var logits, Var targets);

}  // namespace densenet

#endif  // DENSENET_CORE_AUTOGRAD_LOSSES_H_
