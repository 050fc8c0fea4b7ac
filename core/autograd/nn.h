// core/autograd/nn.h
//
// The operations of networks on Vars. Contracts are those of the files of the
// same names in core/ops. Errors are the tape's.

#ifndef DENSENET_CORE_AUTOGRAD_NN_H_
#define DENSENET_CORE_AUTOGRAD_NN_H_

#include "core/autograd/tape.h"
#include "core/ops/avg_pool.h"
#include "core/ops/batch_norm.h"
#include "core/ops/conv2d.h"
#include "core/ops/window.h"
#include "core/random.h"

namespace densenet {

// x (N, H, W, C), w (R, S, C, K) -> (N, P, Q, K)
Var Conv2d(Var x, Var w, const Conv2dParams& params = {});
// op(a) (M, K) * op(b) (K, N) -> (M, N), where op transposes or does nothing.
Var MatMul(Var a, Var b, bool transpose_a = false, bool transpose_b = false);
// y[..., c] = x[..., c] + bias[c]
Var BiasAdd(Var x, Var bias);

// With the statistics of the batch. Running averages advance at once, when
// this is called; default views leave them alone.
Var BatchNormTrain(Var x, Var gamma, Var beta, const BatchNormParams& params,
                   TensorView running_mean, TensorView running_var);
// With running statistics, which are constants. They are read again by the
// backward pass: their owner keeps them unchanged until then.
Var BatchNormEval(Var x, Var gamma, Var beta, const BatchNormParams& params,
                  ConstTensorView running_mean, ConstTensorView running_var);

Var Relu(Var x);
Var MaxPool(Var x, const PoolParams& params);
Var AvgPool(Var x, const PoolParams& params,
            AvgPoolDivisor divisor = AvgPoolDivisor::kExcludePadding);
// (N, H, W, C) -> (N, C)
Var GlobalAvgPool(Var x);
// A rate of 0 returns x. In evaluation, do not call it: it is the identity.
Var Dropout(Var x, double rate, const RandomKey& key);

}  // namespace densenet

#endif  // DENSENET_CORE_AUTOGRAD_NN_H_
