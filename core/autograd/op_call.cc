#include "core/autograd/op_call.h"

#include <glog/logging.h>

#include <utility>

#include "core/autograd/tape_node.h"

namespace densenet {

int ForwardCall::inputs() const {
  return static_cast<int>(node_.inputs.size());
}

ConstTensorView ForwardCall::x(int i) const {
  return tape_.nodes_[node_.inputs[i]]->value;
}

StatusOr<TensorView> ForwardCall::NewOutput(const Shape& shape, DType dtype) {
  CHECK(node_.owned.empty()) << node_.name << ": two results";
  ASSIGN_OR_RETURN(node_.owned, Tensor::Empty(tape_.resource_, dtype, shape));
  node_.value = node_.owned.view();
  return node_.owned.view();
}

void ForwardCall::SetOutputView(ConstTensorView view) {
  CHECK(node_.owned.empty()) << node_.name << ": two results";
  CHECK(view.IsRowStrided()) << node_.name;
  node_.value = view;
}

StatusOr<TensorView> ForwardCall::Save(const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Empty(tape_.resource_, DType::kFloat32, shape));
  node_.saved.push_back(std::move(tensor));
  return node_.saved.back().view();
}

StatusOr<absl::Span<char>> ForwardCall::Workspace(int64_t bytes) {
  return tape_.Workspace(bytes);
}

BackwardCall::BackwardCall(Tape& tape, const Tape::Node& node,
                           ConstTensorView dy, std::vector<bool> wants)
    : tape_(tape),
      node_(node),
      dy_(dy),
      wants_(std::move(wants)),
      dx_(wants_.size()) {}

int BackwardCall::inputs() const {
  return static_cast<int>(node_.inputs.size());
}

ConstTensorView BackwardCall::x(int i) const {
  return tape_.nodes_[node_.inputs[i]]->value;
}

ConstTensorView BackwardCall::y() const { return node_.value; }

ConstTensorView BackwardCall::saved(int i) const {
  return node_.saved[i].const_view();
}

StatusOr<TensorView> BackwardCall::dx(int i) {
  CHECK(wants_[i]) << node_.name << ": nobody wants the gradient for input "
                   << i;
  if (dx_[i].empty()) {
    ASSIGN_OR_RETURN(
        dx_[i], Tensor::Empty(tape_.resource_, DType::kFloat32, x(i).shape()));
  }
  return dx_[i].view();
}

StatusOr<Tensor> BackwardCall::Discarded(int i) {
  return Tensor::Empty(tape_.resource_, DType::kFloat32, x(i).shape());
}

StatusOr<absl::Span<char>> BackwardCall::Workspace(int64_t bytes) {
  return tape_.Workspace(bytes);
}

Var ApplyOp(std::string_view op, absl::Span<const Var> inputs,
            Tape::ForwardFn forward, Tape::BackwardFn backward) {
  for (const Var& input : inputs) {
    if (input.tape() != nullptr) {
      return input.tape()->Apply(op, inputs, forward, std::move(backward));
    }
  }
  return Var();
}

}  // namespace densenet
