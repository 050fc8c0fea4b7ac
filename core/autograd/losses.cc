#include "core/autograd/losses.h"

#include "core/autograd/math.h"
#include "core/autograd/op_call.h"
#include "core/ops/sigmoid_cross_entropy.h"
#include "core/ops/softmax.h"

namespace densenet {

Var Softmax(Var x) {
  return ApplyOp(
      "Softmax", {x},
      [](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(call.x(0).shape()));
        return Softmax(call.ctx(), call.x(0), y);
      },
      [](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        return SoftmaxBackward(call.ctx(), call.y(), call.dy(), dx);
      });
}

Var SparseSoftmaxCrossEntropy(Var logits, Var labels,
                              const CrossEntropyParams& params) {
  return ApplyOp(
      "SparseSoftmaxCrossEntropy", {logits, labels},
      [params](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView losses, call.NewOutput(call.x(1).shape()));
        return SparseSoftmaxCrossEntropy(call.ctx(), call.x(0), call.x(1),
                                         losses, params);
      },
      [params](BackwardCall& call) -> Status {
        if (!call.wants(0)) return OkStatus();
        ASSIGN_OR_RETURN(TensorView dlogits, call.dx(0));
        return SparseSoftmaxCrossEntropyBackward(
            call.ctx(), call.x(0), call.x(1), call.dy(), dlogits, params);
      });
}

Var MeanSparseSoftmaxCrossEntropy(Var logits, Var labels,
                                  const CrossEntropyParams& params) {
  return ReduceMean(SparseSoftmaxCrossEntropy(logits, labels, params));
}

Var SigmoidCrossEntropy(Var logits, Var targets) {
  return ApplyOp(
      "SigmoidCrossEntropy", {logits, targets},
      [](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView losses, call.NewOutput(call.x(0).shape()));
        return SigmoidCrossEntropy(call.ctx(), call.x(0), call.x(1), losses);
      },
      [](BackwardCall& call) -> Status {
        if (!call.wants(0)) return OkStatus();
        ASSIGN_OR_RETURN(TensorView dlogits, call.dx(0));
        return SigmoidCrossEntropyBackward(call.ctx(), call.x(0), call.x(1),
                                           call.dy(), dlogits);
      });
}

}  // namespace densenet
