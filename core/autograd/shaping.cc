#include "core/autograd/shaping.h"

#include "core/autograd/op_call.h"
#include "core/ops/concat.h"
#include "core/ops/copy.h"
#include "core/ops/views.h"

namespace densenet {
namespace {

// The result is `view` where that is row-strided, else a packed copy of it.
Status ViewOrCopy(ForwardCall& call, ConstTensorView view) {
  if (view.IsRowStrided()) {
    call.SetOutputView(view);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(TensorView y, call.NewOutput(view.shape(), view.dtype()));
  return Copy(call.ctx(), view, y);
}

// The elements of a mutable tensor that SliceView picks of it.
StatusOr<TensorView> MutableSlice(TensorView x, const Shape& begin,
                                  const Shape& size) {
  ASSIGN_OR_RETURN(const ConstTensorView picked, SliceView(x, begin, size));
  TensorView y = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    y = y.Slice(axis, begin.dim(axis), begin.dim(axis) + picked.dim(axis));
  }
  return y;
}

}  // namespace

Var Reshape(Var x, const Shape& to) {
  return ApplyOp(
      "Reshape", {x},
      [&](ForwardCall& call) -> Status {
        const ConstTensorView from = call.x(0);
        ASSIGN_OR_RETURN(const Shape shape, ReshapedShape(from.shape(), to));
        if (from.IsPacked()) {
          call.SetOutputView(from.Reshaped(shape));
          return OkStatus();
        }
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(shape, from.dtype()));
        return Copy(call.ctx(), from, y.Reshaped(from.shape()));
      },
      [](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        return Copy(call.ctx(), call.dy().Reshaped(dx.shape()), dx);
      });
}

Var Slice(Var x, const Shape& begin, const Shape& size) {
  return ApplyOp(
      "Slice", {x},
      [&](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(const ConstTensorView view,
                         SliceView(call.x(0), begin, size));
        return ViewOrCopy(call, view);
      },
      [begin, size](BackwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        RETURN_IF_ERROR(Fill(call.ctx(), 0.0f, dx));
        ASSIGN_OR_RETURN(TensorView part, MutableSlice(dx, begin, size));
        return Copy(call.ctx(), call.dy(), part);
      });
}

Var Transpose(Var x, const std::vector<int>& permutation) {
  return ApplyOp(
      "Transpose", {x},
      [&](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(const ConstTensorView view,
                         TransposeView(call.x(0), permutation));
        return ViewOrCopy(call, view);
      },
      [permutation](BackwardCall& call) -> Status {
        std::vector<int> inverse(permutation.size());
        for (size_t a = 0; a < permutation.size(); ++a) {
          inverse[permutation[a]] = static_cast<int>(a);
        }
        ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
        ASSIGN_OR_RETURN(const ConstTensorView view,
                         TransposeView(call.dy(), inverse));
        return Copy(call.ctx(), view, dx);
      });
}

Var Concat(absl::Span<const Var> xs, int axis) {
  return ApplyOp(
      "Concat", xs,
      [&](ForwardCall& call) -> Status {
        std::vector<ConstTensorView> views;
        std::vector<Shape> shapes;
        for (int i = 0; i < call.inputs(); ++i) {
          views.push_back(call.x(i));
          shapes.push_back(views.back().shape());
        }
        ASSIGN_OR_RETURN(const Shape joint, ConcatShape(shapes, axis));
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(joint, views[0].dtype()));
        return Concat(call.ctx(), views, axis, y);
      },
      [axis](BackwardCall& call) -> Status {
        int64_t at = 0;
        for (int i = 0; i < call.inputs(); ++i) {
          const int64_t end = at + call.x(i).dim(axis);
          if (call.wants(i)) {
            ASSIGN_OR_RETURN(TensorView dx, call.dx(i));
            RETURN_IF_ERROR(
                Copy(call.ctx(), call.dy().Slice(axis, at, end), dx));
          }
          at = end;
        }
        return OkStatus();
      });
}

}  // namespace densenet
