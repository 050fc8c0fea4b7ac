#include "core/autograd/math.h"

#include "core/autograd/op_call.h"
#include "core/ops/copy.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"

namespace densenet {
namespace {

using BinaryOp = Status (*)(const Context&, ConstTensorView, ConstTensorView,
                            TensorView);

Status BinaryForward(std::string_view op, BinaryOp compute, ForwardCall& call) {
  ASSIGN_OR_RETURN(const Shape shape,
                   BroadcastShape(op, call.x(0).shape(), call.x(1).shape()));
  ASSIGN_OR_RETURN(TensorView y, call.NewOutput(shape));
  return compute(call.ctx(), call.x(0), call.x(1), y);
}

// The axes of `joint` along which an operand of `shape` was repeated.
std::vector<int> RepeatedAxes(const Shape& shape, const Shape& joint) {
  std::vector<int> axes;
  const int missing = joint.rank() - shape.rank();
  for (int axis = 0; axis < joint.rank(); ++axis) {
    if (axis < missing ||
        (shape.dim(axis - missing) == 1 && joint.dim(axis) != 1)) {
      axes.push_back(axis);
    }
  }
  return axes;
}

// dx(i) = gradient, summed over the axes along which x(i) was repeated.
Status SumInto(BackwardCall& call, int i, ConstTensorView gradient) {
  ASSIGN_OR_RETURN(TensorView dx, call.dx(i));
  const std::vector<int> axes = RepeatedAxes(dx.shape(), gradient.shape());
  if (axes.empty()) return Copy(call.ctx(), gradient, dx);
  ASSIGN_OR_RETURN(const Shape kept,
                   ReducedShape("ReduceSum", gradient.shape(), axes, true));
  return ReduceSum(call.ctx(), gradient, axes, dx.Reshaped(kept));
}

// The scratch of one gradient in the joint shape.
StatusOr<TensorView> JointScratch(BackwardCall& call) {
  ASSIGN_OR_RETURN(const absl::Span<char> scratch,
                   call.Workspace(call.dy().bytes()));
  return TensorView(scratch.data(), DType::kFloat32, call.dy().shape(),
                    call.ctx().device());
}

Var Reduce(std::string_view op,
           Status (*compute)(const Context&, ConstTensorView,
                             absl::Span<const int>, TensorView),
           bool mean, Var x, const std::vector<int>& axes, bool keep_axes) {
  return ApplyOp(
      op, {x},
      [&](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(const Shape shape,
                         ReducedShape(op, call.x(0).shape(), axes, keep_axes));
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(shape));
        return compute(call.ctx(), call.x(0), axes, y);
      },
      [axes, mean](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        ASSIGN_OR_RETURN(const Shape kept,
                         ReducedShape("Reduce", dx.shape(), axes, true));
        const ConstTensorView dy = call.dy().Reshaped(kept);
        if (!mean) return Copy(call.ctx(), dy, dx);
        const float factor = static_cast<float>(
            static_cast<double>(dy.elems()) / static_cast<double>(dx.elems()));
        return Multiply(call.ctx(), BroadcastView(dy, dx.shape()),
                        ConstTensorView(&factor, DType::kFloat32, {}), dx);
      });
}

}  // namespace

Var Add(Var a, Var b) {
  return ApplyOp(
      "Add", {a, b},
      [](ForwardCall& call) { return BinaryForward("Add", Add, call); },
      [](BackwardCall& call) -> Status {
        for (int i : {0, 1}) {
          if (call.wants(i)) RETURN_IF_ERROR(SumInto(call, i, call.dy()));
        }
        return OkStatus();
      });
}

Var Subtract(Var a, Var b) {
  return ApplyOp(
      "Subtract", {a, b},
      [](ForwardCall& call) {
        return BinaryForward("Subtract", Subtract, call);
      },
      [](BackwardCall& call) -> Status {
        if (call.wants(0)) RETURN_IF_ERROR(SumInto(call, 0, call.dy()));
        if (!call.wants(1)) return OkStatus();
        RETURN_IF_ERROR(SumInto(call, 1, call.dy()));
        ASSIGN_OR_RETURN(TensorView db, call.dx(1));
        return Negate(call.ctx(), db, db);
      });
}

Var Multiply(Var a, Var b) {
  return ApplyOp(
      "Multiply", {a, b},
      [](ForwardCall& call) {
        return BinaryForward("Multiply", Multiply, call);
      },
      [](BackwardCall& call) -> Status {
        for (int i : {0, 1}) {
          if (!call.wants(i)) continue;
          ASSIGN_OR_RETURN(TensorView product, JointScratch(call));
          RETURN_IF_ERROR(
              Multiply(call.ctx(), call.dy(), call.x(1 - i), product));
          RETURN_IF_ERROR(SumInto(call, i, product));
        }
        return OkStatus();
      });
}

Var Negate(Var x) {
  return ApplyOp(
      "Negate", {x},
      [](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(call.x(0).shape()));
        return Negate(call.ctx(), call.x(0), y);
      },
      [](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        return Negate(call.ctx(), call.dy(), dx);
      });
}

Var Scale(Var x, float factor) {
  return ApplyOp(
      "Scale", {x},
      [&](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(call.x(0).shape()));
        return Scale(call.ctx(), call.x(0), factor, y);
      },
      [factor](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        return Scale(call.ctx(), call.dy(), factor, dx);
      });
}

Var ReduceSum(Var x, const std::vector<int>& axes, bool keep_axes) {
  return Reduce("ReduceSum", ReduceSum, false, x, axes, keep_axes);
}

Var ReduceMean(Var x, const std::vector<int>& axes, bool keep_axes) {
  return Reduce("ReduceMean", ReduceMean, true, x, axes, keep_axes);
}

Var L2Norm(Var x) {
  return ApplyOp(
      "L2Norm", {x},
      [](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput({}));
        return L2Norm(call.ctx(), call.x(0), y);
      },
      [](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        return L2NormBackward(call.ctx(), call.x(0), call.y(), call.dy(), dx);
      });
}

Var StopGradient(Var x) {
  if (!x.ok()) return x;
  // Not an input of the new node, so that no gradient finds its way.
  StatusOr<ConstTensorView> value = x.tape()->Value(x);
  if (!value.ok()) return x.tape()->Fail("StopGradient", {x}, value.status());
  return x.tape()->Apply(
      "StopGradient", {},
      [&](ForwardCall& call) {
        call.SetOutputView(*value);
        return OkStatus();
      },
      nullptr);
}

}  // namespace densenet
