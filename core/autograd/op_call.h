// core/autograd/op_call.h
//
// How an operation on Vars is written: a forward function that computes and a
// backward function that the tape keeps. Scaling by a constant, in full:
//
//   Var Scale(Var x, float factor) {
//     return ApplyOp("Scale", {x},
//         [&](ForwardCall& call) -> Status {
//           ASSIGN_OR_RETURN(TensorView y, call.NewOutput(call.x(0).shape()));
//           return Scale(call.ctx(), call.x(0), factor, y);
//         },
//         [factor](BackwardCall& call) -> Status {
//           ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
//           return Scale(call.ctx(), call.dy(), factor, dx);
//         });
//   }
//
// Memory    outputs, saved tensors, gradients and scratch are the tape's
// Errors    what either function returns becomes the tape's error, with the
//           operation and its inputs named

#ifndef DENSENET_CORE_AUTOGRAD_OP_CALL_H_
#define DENSENET_CORE_AUTOGRAD_OP_CALL_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "core/autograd/tape.h"
#include "core/context.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

class ForwardCall {
 public:
  const Context& ctx() const { return tape_.ctx(); }
  int inputs() const;
  ConstTensorView x(int i) const;

  // The result, either in memory of its own, contents undefined ...
  StatusOr<TensorView> NewOutput(const Shape& shape,
                                 DType dtype = DType::kFloat32);
  // ... or a row-strided view of an input's elements.
  void SetOutputView(ConstTensorView view);

  // Memory that the backward call reads as saved(0), saved(1), ... in the order
  // of these calls.
  StatusOr<TensorView> Save(const Shape& shape);
  // Scratch until the next call of Workspace on this tape.
  StatusOr<absl::Span<char>> Workspace(int64_t bytes);

 private:
  friend class Tape;
  ForwardCall(Tape& tape, Tape::Node& node) : tape_(tape), node_(node) {}

  Tape& tape_;
  Tape::Node& node_;
};

class BackwardCall {
 public:
  const Context& ctx() const { return tape_.ctx(); }
  int inputs() const;
  ConstTensorView x(int i) const;
  ConstTensorView y() const;
  ConstTensorView saved(int i) const;
  // The gradient for the result; packed.
  ConstTensorView dy() const { return dy_; }

  // Whether anybody asks for the gradient for input i; only then may dx(i) be
  // called, and it must.
  bool wants(int i) const { return wants_[i]; }
  // Where it goes: a packed tensor of the shape of x(i), contents undefined,
  // to be overwritten. The same memory for the same i.
  StatusOr<TensorView> dx(int i);
  // Memory of the shape of x(i) for a kernel that cannot leave a gradient out
  // that nobody wants.
  StatusOr<Tensor> Discarded(int i);
  StatusOr<absl::Span<char>> Workspace(int64_t bytes);

 private:
  friend class Tape;
  BackwardCall(Tape& tape, const Tape::Node& node, ConstTensorView dy,
               std::vector<bool> wants);

  Tape& tape_;
  const Tape::Node& node_;
  ConstTensorView dy_;
  std::vector<bool> wants_;
  std::vector<Tensor> dx_;
};

// Tape::Apply on the tape of the inputs. Without an input that has a tape the
// result is Var().
Var ApplyOp(std::string_view op, absl::Span<const Var> inputs,
            Tape::ForwardFn forward, Tape::BackwardFn backward);

}  // namespace densenet

#endif  // DENSENET_CORE_AUTOGRAD_OP_CALL_H_
