// core/ops/batch_norm.h
//
// Batch normalization over all axes but the last. M is the number of rows,
// N*H*W of an activation (N, H, W, C).
//
//   train   y = gamma * (x - mean) * inv_std + beta with the statistics of the
//           batch, which are saved; running averages advance
//   eval    the same with running statistics; also the forward of frozen mode
//   frozen  running statistics are constants, gradients flow to x, gamma, beta
//
// Shapes    x, y, dy, dx (..., C), rank 2 to 6: row-strided views;
//           gamma, beta, mean, inv_std, running_*, dgamma, dbeta (C), packed
// Types     float32
// Memory    y may be x, dx may be dy; scratch is `workspace`, aligned to
//           kAlignmentBytes and at least BatchNormWorkspaceBytes(...) bytes,
//           one size for every function here
// Stream    enqueues on ctx's stream; never synchronizes
// Errors    InvalidArgument  shapes, types or strides do not fit; M = 1 in
//                            training (its variance is undefined); momentum
//                            outside [0, 1]; epsilon < 0; workspace too small
//           Unimplemented    a CUDA context in a build without its kernel
// Numerics  mean and squared deviations per chunk of rows, merged in float64 in
//           chunk order; variance is biased (1 / M) for normalizing, and
//           M / (M - 1) times that in running_var. The output is
//           fma(x, scale, shift) of batch_norm_math.h, so its error grows with
//           |mean| * inv_std.
// Threads   safe for different Contexts; results are bitwise independent of the
//           number of threads

#ifndef DENSENET_CORE_OPS_BATCH_NORM_H_
#define DENSENET_CORE_OPS_BATCH_NORM_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

struct BatchNormParams {
  double epsilon = 1e-5;
  double momentum = 0.1;  // the weight of the new batch statistic
};

// Enough for every function below that takes a workspace.
StatusOr<int64_t> BatchNormWorkspaceBytes(const Context& ctx,
                                          ConstTensorView x);

// Statistics of the batch: mean, inv_std = 1 / sqrt(variance + epsilon), and
// the advanced running averages. Default (null) views for both running
// averages leave them alone, as a recomputed forward must.
Status BatchNormStatistics(const Context& ctx, ConstTensorView x,
                           const BatchNormParams& params, TensorView mean,
                           TensorView inv_std, TensorView running_mean,
                           TensorView running_var, absl::Span<char> workspace);

// y from statistics that are known already: the rest of a training forward,
// and all of a recomputed one, bit for bit.
Status BatchNormApply(const Context& ctx, ConstTensorView x,
                      ConstTensorView gamma, ConstTensorView beta,
                      ConstTensorView mean, ConstTensorView inv_std,
                      TensorView y);

// Train: BatchNormStatistics, then BatchNormApply.
Status BatchNormTrain(const Context& ctx, ConstTensorView x,
                      ConstTensorView gamma, ConstTensorView beta,
                      const BatchNormParams& params, TensorView y,
                      TensorView mean, TensorView inv_std,
                      TensorView running_mean, TensorView running_var,
                      absl::Span<char> workspace);

// Eval and frozen. Of params, only epsilon is used.
Status BatchNormEval(const Context& ctx, ConstTensorView x,
                     ConstTensorView gamma, ConstTensorView beta,
                     ConstTensorView running_mean, ConstTensorView running_var,
                     const BatchNormParams& params, TensorView y);

// Gradients of train; mean and inv_std as saved. dx, dgamma and dbeta are
// overwritten.
Status BatchNormTrainBackward(const Context& ctx, ConstTensorView x,
                              ConstTensorView dy, ConstTensorView gamma,
                              ConstTensorView mean, ConstTensorView inv_std,
                              TensorView dx, TensorView dgamma,
                              TensorView dbeta, absl::Span<char> workspace);

// Gradients of frozen. Of params, only epsilon is used.
Status BatchNormFrozenBackward(const Context& ctx, ConstTensorView x,
                               ConstTensorView dy, ConstTensorView gamma,
                               ConstTensorView running_mean,
                               ConstTensorView running_var,
                               const BatchNormParams& params, TensorView dx,
                               TensorView dgamma, TensorView dbeta,
                               absl::Span<char> workspace);

}  // namespace densenet

#endif  // DENSENET_CORE_OPS_BATCH_NORM_H_
