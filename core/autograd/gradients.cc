// The backward pass: a node is active when it depends on an x and a y depends
// on it. Active nodes are visited from the last to the first; each consumes its
// own gradient and adds to those of its active inputs, in a fixed order.

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "core/autograd/op_call.h"
#include "core/autograd/tape.h"
#include "core/autograd/tape_node.h"
#include "core/ops/copy.h"
#include "core/ops/elementwise.h"

namespace densenet {

StatusOr<std::vector<bool>> Tape::ActiveNodes(absl::Span<const Var> ys,
                                              absl::Span<const Var> xs) const {
  std::vector<bool> depends(nodes_.size(), false);
  for (const Var& x : xs) depends[x.node_] = true;
  for (size_t id = 0; id < nodes_.size(); ++id) {
    for (const int64_t input : nodes_[id]->inputs) {
      if (depends[input]) depends[id] = true;
    }
  }
  std::vector<bool> needed(nodes_.size(), false);
  for (const Var& y : ys) needed[y.node_] = true;
  for (size_t id = nodes_.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const int64_t input : nodes_[id]->inputs) needed[input] = true;
  }
  for (const Var& x : xs) {
    if (needed[x.node_]) continue;
    return NotFound(fmt::format(
        "Gradients: no y depends on '{}' {}: use it in the computation of a y, "
        "or leave it out of xs",
        Find(x)->display, Find(x)->value.ToString()));
  }
  for (size_t id = 0; id < nodes_.size(); ++id) {
    if (!needed[id]) depends[id] = false;
  }
  return depends;
}

Status Tape::AddOnes(int64_t node, std::vector<Tensor>& gradients) {
  Tensor& gradient = gradients[node];
  if (gradient.empty()) {
    ASSIGN_OR_RETURN(gradient, Tensor::Empty(resource_, DType::kFloat32,
                                             nodes_[node]->value.shape()));
    return Fill(ctx_, 1.0f, gradient.view());
  }
  const float one = 1.0f;
  return Add(ctx_, gradient.const_view(),
             ConstTensorView(&one, DType::kFloat32, {}), gradient.view());
}

Status Tape::Propagate(int64_t id, const std::vector<bool>& active,
                       std::vector<Tensor>& gradients) {
  const Node& node = *nodes_[id];
  std::vector<bool> wants;
  for (const int64_t input : node.inputs) wants.push_back(active[input]);
  if (std::find(wants.begin(), wants.end(), true) == wants.end()) {
    return OkStatus();
  }
  BackwardCall call(*this, node, gradients[id].const_view(), wants);
  if (node.backward != nullptr) {
    RETURN_IF_ERROR(Annotate(node.backward(call),
                             fmt::format("Gradients: {}", node.display)));
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!wants[i]) continue;
    if (call.dx_[i].empty()) {
      return Unimplemented(fmt::format(
          "Gradients: {} has no gradient for its input {} ('{}'): where a "
          "constant is meant, pass StopGradient of it",
          node.display, i, nodes_[node.inputs[i]]->display));
    }
    Tensor& sum = gradients[node.inputs[i]];
    if (sum.empty()) {
      sum = std::move(call.dx_[i]);
    } else {
      RETURN_IF_ERROR(
          Add(ctx_, sum.const_view(), call.dx_[i].const_view(), sum.view()));
      call.dx_[i] = Tensor();
    }
  }
  return OkStatus();
}

StatusOr<std::vector<Tensor>> Tape::Gradients(absl::Span<const Var> ys,
                                              absl::Span<const Var> xs) {
  RETURN_IF_ERROR(status_);
  for (const absl::Span<const Var>& vars : {ys, xs}) {
    for (const Var& v : vars) {
      RETURN_IF_ERROR(Annotate(CheckVar(v), "Gradients"));
      const Node& node = *Find(v);
      const DType dtype = node.kind == Node::Kind::kInput ? node.declared_dtype
                                                          : node.value.dtype();
      if (dtype != DType::kFloat32) {
        return InvalidArgument(
            fmt::format("Gradients: '{}' is {}, only float32 has gradients",
                        node.display, Name(dtype)));
      }
    }
  }
  RETURN_IF_ERROR(CheckUsable("Gradients", ys));
  ASSIGN_OR_RETURN(const std::vector<bool> active, ActiveNodes(ys, xs));
  std::vector<bool> is_x(nodes_.size(), false);
  for (const Var& x : xs) is_x[x.node_] = true;

  std::vector<Tensor> gradients(nodes_.size());
  for (const Var& y : ys) {
    if (active[y.node_]) RETURN_IF_ERROR(AddOnes(y.node_, gradients));
  }
  for (auto id = static_cast<int64_t>(nodes_.size()) - 1; id >= 0; --id) {
    if (gradients[id].empty()) continue;
    RETURN_IF_ERROR(Propagate(id, active, gradients));
    if (!is_x[id]) gradients[id] = Tensor();
  }

  std::vector<Tensor> result;
  std::vector<int64_t> first(nodes_.size(), -1);  // position of x in result
  for (const Var& x : xs) {
    if (first[x.node_] < 0) {
      first[x.node_] = static_cast<int64_t>(result.size());
      CHECK(!gradients[x.node_].empty());
      result.push_back(std::move(gradients[x.node_]));
    } else {
      const Tensor& known = result[first[x.node_]];
      ASSIGN_OR_RETURN(Tensor copy, Tensor::Empty(resource_, DType::kFloat32,
                                                  known.shape()));
      RETURN_IF_ERROR(Copy(ctx_, known.view(), copy.view()));
      result.push_back(std::move(copy));
    }
  }
  return result;
}

}  // namespace densenet
