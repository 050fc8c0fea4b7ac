#include "core/ops/batch_norm.h"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>

#include "core/ops/batch_norm_cpu.h"
#include "core/ops/checks.h"

namespace densenet {
namespace {

// A per-channel argument and its name in messages.
using Channels = std::pair<std::string_view, ConstTensorView>;

Status CheckActivation(std::string_view op, const Context& ctx,
                       ConstTensorView x) {
  if (x.rank() < 2) {
    return InvalidArgument(
        fmt::format("{}: x has shape {}, must have rank 2 or more", op,
                    x.shape().ToString()));
  }
  return CheckFloatRows(op, "x", ctx, x);
}

Status CheckLike(std::string_view op, std::string_view name, const Context& ctx,
                 ConstTensorView view, ConstTensorView x) {
  RETURN_IF_ERROR(CheckFloatRows(op, name, ctx, view, x.rank()));
  return CheckShape(op, name, view, x.shape());
}

Status CheckChannels(std::string_view op, const Context& ctx, ConstTensorView x,
                     std::initializer_list<Channels> vectors) {
  for (const Channels& vector : vectors) {
    RETURN_IF_ERROR(
        CheckChannelVector(op, vector.first, ctx, vector.second, x.dim(-1)));
  }
  return OkStatus();
}

Status CheckParams(std::string_view op, const BatchNormParams& params) {
  if (!(params.epsilon >= 0)) {
    return InvalidArgument(fmt::format("{}: epsilon is {}, must be at least 0",
                                       op, params.epsilon));
  }
  if (!(params.momentum >= 0 && params.momentum <= 1)) {
    return InvalidArgument(fmt::format(
        "{}: momentum is {}, must lie in [0, 1]; it is the weight of the new "
        "batch statistic",
        op, params.momentum));
  }
  return OkStatus();
}

Status CheckScratch(std::string_view op, ConstTensorView x,
                    absl::Span<char> workspace) {
  return CheckWorkspace(op, workspace, BatchNormWorkspaceBytesCpu(x));
}

Status CheckStatistics(std::string_view op, const Context& ctx,
                       ConstTensorView x, const BatchNormParams& params,
                       ConstTensorView mean, ConstTensorView inv_std,
                       ConstTensorView running_mean,
                       ConstTensorView running_var) {
  RETURN_IF_ERROR(CheckActivation(op, ctx, x));
  RETURN_IF_ERROR(CheckParams(op, params));
  if (x.rows() < 2) {
    return InvalidArgument(fmt::format(
        "{}: x of shape {} has one value per channel, whose variance is "
        "undefined; train on a larger batch or image, or freeze the "
        "statistics",
        op, x.shape().ToString()));
  }
  RETURN_IF_ERROR(
      CheckChannels(op, ctx, x, {{"mean", mean}, {"inv_std", inv_std}}));
  if ((running_mean.raw() == nullptr) != (running_var.raw() == nullptr)) {
    return InvalidArgument(fmt::format(
        "{}: running_mean and running_var must both be given or both be null",
        op));
  }
  if (running_mean.raw() == nullptr) return OkStatus();
  return CheckChannels(
      op, ctx, x,
      {{"running_mean", running_mean}, {"running_var", running_var}});
}

// What both backwards share.
Status CheckBackward(std::string_view op, const Context& ctx, ConstTensorView x,
                     ConstTensorView dy, ConstTensorView gamma,
                     ConstTensorView dx, ConstTensorView dgamma,
                     ConstTensorView dbeta) {
  RETURN_IF_ERROR(CheckActivation(op, ctx, x));
  RETURN_IF_ERROR(CheckLike(op, "dy", ctx, dy, x));
  RETURN_IF_ERROR(CheckLike(op, "dx", ctx, dx, x));
  return CheckChannels(
      op, ctx, x, {{"gamma", gamma}, {"dgamma", dgamma}, {"dbeta", dbeta}});
}

}  // namespace

StatusOr<int64_t> BatchNormWorkspaceBytes(const Context& ctx,
                                          ConstTensorView x) {
  constexpr char kOp[] = "BatchNorm";
  RETURN_IF_ERROR(CheckActivation(kOp, ctx, x));
  if (ctx.device().is_cuda()) return NoCudaKernel(kOp);
  return BatchNormWorkspaceBytesCpu(x);
}

Status BatchNormStatistics(const Context& ctx, ConstTensorView x,
                           const BatchNormParams& params, TensorView mean,
                           TensorView inv_std, TensorView running_mean,
                           TensorView running_var, absl::Span<char> workspace) {
  constexpr char kOp[] = "BatchNormStatistics";
  RETURN_IF_ERROR(CheckStatistics(kOp, ctx, x, params, mean, inv_std,
                                  running_mean, running_var));
  if (ctx.device().is_cuda()) return NoCudaKernel(kOp);
  RETURN_IF_ERROR(CheckScratch(kOp, x, workspace));
  BatchNormStatisticsCpu(ctx, x, params, mean, inv_std, running_mean,
                         running_var, workspace);
  return OkStatus();
}

Status BatchNormApply(const Context& ctx, ConstTensorView x,
                      ConstTensorView gamma, ConstTensorView beta,
                      ConstTensorView mean, ConstTensorView inv_std,
                      TensorView y) {
  constexpr char kOp[] = "BatchNormApply";
  RETURN_IF_ERROR(CheckActivation(kOp, ctx, x));
  RETURN_IF_ERROR(CheckLike(kOp, "y", ctx, y, x));
  RETURN_IF_ERROR(CheckChannels(kOp, ctx, x,
                                {{"gamma", gamma},
                                 {"beta", beta},
                                 {"mean", mean},
                                 {"inv_std", inv_std}}));
  if (ctx.device().is_cuda()) return NoCudaKernel(kOp);
  BatchNormApplyCpu(ctx, x, gamma, beta, mean, inv_std, y);
  return OkStatus();
}

Status BatchNormTrain(const Context& ctx, ConstTensorView x,
                      ConstTensorView gamma, ConstTensorView beta,
                      const BatchNormParams& params, TensorView y,
                      TensorView mean, TensorView inv_std,
                      TensorView running_mean, TensorView running_var,
                      absl::Span<char> workspace) {
  constexpr char kOp[] = "BatchNormTrain";
  RETURN_IF_ERROR(CheckStatistics(kOp, ctx, x, params, mean, inv_std,
                                  running_mean, running_var));
  // Everything is checked before running averages move.
  RETURN_IF_ERROR(CheckLike(kOp, "y", ctx, y, x));
  RETURN_IF_ERROR(
      CheckChannels(kOp, ctx, x, {{"gamma", gamma}, {"beta", beta}}));
  if (ctx.device().is_cuda()) return NoCudaKernel(kOp);
  RETURN_IF_ERROR(CheckScratch(kOp, x, workspace));
  BatchNormStatisticsCpu(ctx, x, params, mean, inv_std, running_mean,
                         running_var, workspace);
  BatchNormApplyCpu(ctx, x, gamma, beta, mean, inv_std, y);
  return OkStatus();
}

Status BatchNormEval(const Context& ctx, ConstTensorView x,
                     ConstTensorView gamma, ConstTensorView beta,
                     ConstTensorView running_mean, ConstTensorView running_var,
                     const BatchNormParams& params, TensorView y) {
  constexpr char kOp[] = "BatchNormEval";
  RETURN_IF_ERROR(CheckActivation(kOp, ctx, x));
  RETURN_IF_ERROR(CheckParams(kOp, params));
  RETURN_IF_ERROR(CheckLike(kOp, "y", ctx, y, x));
  RETURN_IF_ERROR(CheckChannels(kOp, ctx, x,
                                {{"gamma", gamma},
                                 {"beta", beta},
                                 {"running_mean", running_mean},
                                 {"running_var", running_var}}));
  if (ctx.device().is_cuda()) return NoCudaKernel(kOp);
  BatchNormEvalCpu(ctx, x, gamma, beta, running_mean, running_var,
                   params.epsilon, y);
  return OkStatus();
}

Status BatchNormTrainBackward(const Context& ctx, ConstTensorView x,
                              ConstTensorView dy, ConstTensorView gamma,
                              ConstTensorView mean, ConstTensorView inv_std,
                              TensorView dx, TensorView dgamma,
                              TensorView dbeta, absl::Span<char> workspace) {
  constexpr char kOp[] = "BatchNormTrainBackward";
  RETURN_IF_ERROR(CheckBackward(kOp, ctx, x, dy, gamma, dx, dgamma, dbeta));
  RETURN_IF_ERROR(
      CheckChannels(kOp, ctx, x, {{"mean", mean}, {"inv_std", inv_std}}));
  if (ctx.device().is_cuda()) return NoCudaKernel(kOp);
  RETURN_IF_ERROR(CheckScratch(kOp, x, workspace));
  BatchNormTrainBackwardCpu(ctx, x, dy, gamma, mean, inv_std, dx, dgamma, dbeta,
                            workspace);
  return OkStatus();
}

Status BatchNormFrozenBackward(const Context& ctx, ConstTensorView x,
                               ConstTensorView dy, ConstTensorView gamma,
                               ConstTensorView running_mean,
                               ConstTensorView running_var,
                               const BatchNormParams& params, TensorView dx,
                               TensorView dgamma, TensorView dbeta,
                               absl::Span<char> workspace) {
  constexpr char kOp[] = "BatchNormFrozenBackward";
  RETURN_IF_ERROR(CheckBackward(kOp, ctx, x, dy, gamma, dx, dgamma, dbeta));
  RETURN_IF_ERROR(CheckParams(kOp, params));
  RETURN_IF_ERROR(CheckChannels(
      kOp, ctx, x,
      {{"running_mean", running_mean}, {"running_var", running_var}}));
  if (ctx.device().is_cuda()) return NoCudaKernel(kOp);
  RETURN_IF_ERROR(CheckScratch(kOp, x, workspace));
  BatchNormFrozenBackwardCpu(ctx, x, dy, gamma, running_mean, running_var,
                             params.epsilon, dx, dgamma, dbeta, workspace);
  return OkStatus();
}

}  // namespace densenet
