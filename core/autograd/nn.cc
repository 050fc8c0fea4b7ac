#include "core/autograd/nn.h"

#include "core/autograd/op_call.h"
#include "core/ops/bias_add.h"
#include "core/ops/copy.h"
#include "core/ops/dropout.h"
#include "core/ops/global_avg_pool.h"
#include "core/ops/matmul.h"
#include "core/ops/max_pool.h"
#include "core/ops/relu.h"

namespace densenet {
namespace {

// y = op(a) * op(b) with scratch of the call.
template <typename Call>
Status Product(Call& call, ConstTensorView a, bool transpose_a,
               ConstTensorView b, bool transpose_b, TensorView y) {
  const MatMulParams params = {.transpose_a = transpose_a,
                               .transpose_b = transpose_b,
                               .accumulate = false};
  ASSIGN_OR_RETURN(const int64_t bytes,
                   MatMulWorkspaceBytes(call.ctx(), a, b, params, y));
  ASSIGN_OR_RETURN(const absl::Span<char> workspace, call.Workspace(bytes));
  return MatMul(call.ctx(), a, b, params, y, workspace);
}

Status MatMulForward(ForwardCall& call, bool transpose_a, bool transpose_b) {
  const ConstTensorView a = call.x(0);
  const ConstTensorView b = call.x(1);
  Shape shape;
  if (a.rank() == 2 && b.rank() == 2) {
    shape = {a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)};
  }
  ASSIGN_OR_RETURN(TensorView y, call.NewOutput(shape));
  return Product(call, a, transpose_a, b, transpose_b, y);
}

Status MatMulBackward(BackwardCall& call, bool transpose_a, bool transpose_b) {
  const ConstTensorView a = call.x(0);
  const ConstTensorView b = call.x(1);
  const ConstTensorView dy = call.dy();
  if (call.wants(0)) {
    ASSIGN_OR_RETURN(TensorView da, call.dx(0));
    RETURN_IF_ERROR(transpose_a
                        ? Product(call, b, transpose_b, dy, true, da)
                        : Product(call, dy, false, b, !transpose_b, da));
  }
  if (call.wants(1)) {
    ASSIGN_OR_RETURN(TensorView db, call.dx(1));
    RETURN_IF_ERROR(transpose_b
                        ? Product(call, dy, true, a, transpose_a, db)
                        : Product(call, a, !transpose_a, dy, false, db));
  }
  return OkStatus();
}

Status Conv2dBackward(BackwardCall& call, const Conv2dParams& params) {
  const Context& ctx = call.ctx();
  const ConstTensorView x = call.x(0);
  const ConstTensorView w = call.x(1);
  if (call.wants(0)) {
    ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
    ASSIGN_OR_RETURN(const int64_t bytes, Conv2dBackwardDataWorkspaceBytes(
                                              ctx, call.dy(), w, params, dx));
    ASSIGN_OR_RETURN(const absl::Span<char> scratch, call.Workspace(bytes));
    RETURN_IF_ERROR(Conv2dBackwardData(ctx, call.dy(), w, params, dx, scratch));
  }
  if (call.wants(1)) {
    ASSIGN_OR_RETURN(TensorView dw, call.dx(1));
    ASSIGN_OR_RETURN(const int64_t bytes, Conv2dBackwardFilterWorkspaceBytes(
                                              ctx, x, call.dy(), params, dw));
    ASSIGN_OR_RETURN(const absl::Span<char> scratch, call.Workspace(bytes));
    RETURN_IF_ERROR(
        Conv2dBackwardFilter(ctx, x, call.dy(), params, dw, scratch));
  }
  return OkStatus();
}

// The kernels give all three gradients at once; those that nobody wants go to
// memory that is dropped.
class BatchNormGradients {
 public:
  Status Prepare(BackwardCall& call) {
    for (int i = 0; i < 3; ++i) {
      if (call.wants(i)) {
        ASSIGN_OR_RETURN(d[i], call.dx(i));
      } else {
        ASSIGN_OR_RETURN(unwanted_[i], call.Discarded(i));
        d[i] = unwanted_[i].view();
      }
    }
    ASSIGN_OR_RETURN(const int64_t bytes,
                     BatchNormWorkspaceBytes(call.ctx(), call.x(0)));
    ASSIGN_OR_RETURN(workspace, call.Workspace(bytes));
    return OkStatus();
  }

  TensorView d[3];  // dx, dgamma, dbeta
  absl::Span<char> workspace;

 private:
  Tensor unwanted_[3];
};

}  // namespace

Var Conv2d(Var x, Var w, const Conv2dParams& params) {
  return ApplyOp(
      "Conv2d", {x, w},
      [&](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(
            const Shape shape,
            Conv2dOutputShape(call.x(0).shape(), call.x(1).shape(), params));
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(shape));
        ASSIGN_OR_RETURN(const int64_t bytes,
                         Conv2dForwardWorkspaceBytes(call.ctx(), call.x(0),
                                                     call.x(1), params, y));
        ASSIGN_OR_RETURN(const absl::Span<char> scratch, call.Workspace(bytes));
        return Conv2dForward(call.ctx(), call.x(0), call.x(1), params, y,
                             scratch);
      },
      [params](BackwardCall& call) { return Conv2dBackward(call, params); });
}

Var MatMul(Var a, Var b, bool transpose_a, bool transpose_b) {
  return ApplyOp(
      "MatMul", {a, b},
      [&](ForwardCall& call) {
        return MatMulForward(call, transpose_a, transpose_b);
      },
      [transpose_a, transpose_b](BackwardCall& call) {
        return MatMulBackward(call, transpose_a, transpose_b);
      });
}

Var BiasAdd(Var x, Var bias) {
  return ApplyOp(
      "BiasAdd", {x, bias},
      [](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(call.x(0).shape()));
        return BiasAdd(call.ctx(), call.x(0), call.x(1), y);
      },
      [](BackwardCall& call) -> Status {
        if (call.wants(0)) {
          ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
          RETURN_IF_ERROR(Copy(call.ctx(), call.dy(), dx));
        }
        if (!call.wants(1)) return OkStatus();
        ASSIGN_OR_RETURN(TensorView db, call.dx(1));
        ASSIGN_OR_RETURN(const int64_t bytes,
                         BiasAddBackwardWorkspaceBytes(call.ctx(), call.dy()));
        ASSIGN_OR_RETURN(const absl::Span<char> scratch, call.Workspace(bytes));
        return BiasAddBackward(call.ctx(), call.dy(), db, scratch);
      });
}

Var BatchNormTrain(Var x, Var gamma, Var beta, const BatchNormParams& params,
                   TensorView running_mean, TensorView running_var) {
  return ApplyOp(
      "BatchNormTrain", {x, gamma, beta},
      [&](ForwardCall& call) -> Status {
        const ConstTensorView from = call.x(0);
        ASSIGN_OR_RETURN(const int64_t bytes,
                         BatchNormWorkspaceBytes(call.ctx(), from));
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(from.shape()));
        ASSIGN_OR_RETURN(TensorView mean, call.Save({from.dim(-1)}));
        ASSIGN_OR_RETURN(TensorView inv_std, call.Save({from.dim(-1)}));
        ASSIGN_OR_RETURN(const absl::Span<char> scratch, call.Workspace(bytes));
        return BatchNormTrain(call.ctx(), from, call.x(1), call.x(2), params, y,
                              mean, inv_std, running_mean, running_var,
                              scratch);
      },
      [](BackwardCall& call) -> Status {
        BatchNormGradients g;
        RETURN_IF_ERROR(g.Prepare(call));
        return BatchNormTrainBackward(call.ctx(), call.x(0), call.dy(),
                                      call.x(1), call.saved(0), call.saved(1),
                                      g.d[0], g.d[1], g.d[2], g.workspace);
      });
}

Var BatchNormEval(Var x, Var gamma, Var beta, const BatchNormParams& params,
                  ConstTensorView running_mean, ConstTensorView running_var) {
  return ApplyOp(
      "BatchNormEval", {x, gamma, beta},
      [&](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(call.x(0).shape()));
        return BatchNormEval(call.ctx(), call.x(0), call.x(1), call.x(2),
                             running_mean, running_var, params, y);
      },
      [=](BackwardCall& call) -> Status {
        BatchNormGradients g;
        RETURN_IF_ERROR(g.Prepare(call));
        return BatchNormFrozenBackward(
            call.ctx(), call.x(0), call.dy(), call.x(1), running_mean,
            running_var, params, g.d[0], g.d[1], g.d[2], g.workspace);
      });
}

Var Relu(Var x) {
  return ApplyOp(
      "Relu", {x},
      [](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(call.x(0).shape()));
        return Relu(call.ctx(), call.x(0), y);
      },
      [](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        return ReluBackward(call.ctx(), call.y(), call.dy(), dx);
      });
}

Var MaxPool(Var x, const PoolParams& params) {
  return ApplyOp(
      "MaxPool", {x},
      [&](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(const Shape shape,
                         MaxPoolOutputShape(call.x(0).shape(), params));
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(shape));
        return MaxPool(call.ctx(), call.x(0), params, y);
      },
      [params](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        return MaxPoolBackward(call.ctx(), call.x(0), call.dy(), params, dx);
      });
}

Var AvgPool(Var x, const PoolParams& params, AvgPoolDivisor divisor) {
  return ApplyOp(
      "AvgPool", {x},
      [&](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(const Shape shape,
                         AvgPoolOutputShape(call.x(0).shape(), params));
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(shape));
        return AvgPool(call.ctx(), call.x(0), params, divisor, y);
      },
      [params, divisor](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        return AvgPoolBackward(call.ctx(), call.dy(), params, divisor, dx);
      });
}

Var GlobalAvgPool(Var x) {
  return ApplyOp(
      "GlobalAvgPool", {x},
      [](ForwardCall& call) -> Status {
        const ConstTensorView from = call.x(0);
        Shape shape;
        if (from.rank() == 4) shape = {from.dim(0), from.dim(3)};
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(shape));
        return GlobalAvgPool(call.ctx(), from, y);
      },
      [](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        return GlobalAvgPoolBackward(call.ctx(), call.dy(), dx);
      });
}

Var Dropout(Var x, double rate, const RandomKey& key) {
  if (rate == 0.0) return x;
  return ApplyOp(
      "Dropout", {x},
      [&](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(call.x(0).shape()));
        return Dropout(call.ctx(), call.x(0), rate, key, y);
      },
      [rate, key](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        return DropoutBackward(call.ctx(), call.dy(), rate, key, dx);
      });
}

}  // namespace densenet
