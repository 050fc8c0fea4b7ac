#include "core/autograd/tape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "core/autograd/op_call.h"
#include "core/autograd/tape_node.h"
#include "core/ops/copy.h"

namespace densenet {
namespace {

constexpr int64_t kAnyExtent = -1;

// Whether a fed shape fits a declared one.
bool Fits(const Shape& shape, const Shape& declared) {
  if (shape.rank() != declared.rank()) return false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t expected = declared.dim(axis);
    if (expected != kAnyExtent && expected != shape.dim(axis)) return false;
  }
  return true;
}

Status CheckView(const Context& ctx, std::string_view what,
                 std::string_view name, ConstTensorView view) {
  if (view.device() != ctx.device()) {
    return InvalidArgument(
        fmt::format("{} '{}' is on {}, the tape's context on {}", what, name,
                    view.device().ToString(), ctx.device().ToString()));
  }
  if (!view.IsRowStrided()) {
    return InvalidArgument(fmt::format(
        "{} '{}' {} with strides {} is not rows of adjacent elements at equal "
        "distances: Copy it into a packed tensor first",
        what, name, view.shape().ToString(), view.strides().ToString()));
  }
  return OkStatus();
}

}  // namespace

bool Var::ok() const { return tape_ != nullptr && tape_->CheckVar(*this).ok(); }

Shape Var::shape() const {
  if (!ok()) return {};
  const Tape::Node& node = *tape_->Find(*this);
  return node.kind == Tape::Node::Kind::kInput && !node.fed
             ? node.declared
             : node.value.shape();
}

std::string Var::name() const {
  return ok() ? tape_->Find(*this)->display : "(poisoned)";
}

Tape::Tape(const Context& ctx, MemoryResource& resource)
    : ctx_(ctx), resource_(resource) {
  CHECK(resource.device() == ctx.device())
      << "memory on " << resource.device().ToString() << ", context on "
      << ctx.device().ToString();
}

Tape::~Tape() = default;

void Tape::Reset() {
  nodes_.clear();
  inputs_.clear();
  leaves_.clear();
  workspace_ = Tensor();
  status_ = OkStatus();
  ++generation_;
}

const Tape::Node* Tape::Find(Var v) const { return nodes_[v.node_].get(); }

Var Tape::Append(std::unique_ptr<Node> node) {
  const auto number = static_cast<int64_t>(nodes_.size());
  node->display = node->kind == Node::Kind::kOp
                      ? fmt::format("{}:{}", node->name, number)
                      : node->name;
  nodes_.push_back(std::move(node));
  return Var(this, number, generation_);
}

Var Tape::Fail(std::string_view op, absl::Span<const Var> inputs,
               const Status& error) {
  CHECK(!error.ok());
  if (status_.ok()) {
    std::vector<std::string> names;
    for (const Var& input : inputs) {
      names.push_back(input.ok() ? fmt::format("{} {}", input.name(),
                                               input.shape().ToString())
                                 : "(invalid)");
    }
    std::string message(StdView(error.message()));
    // The kernels name the operation themselves, mostly.
    if (message.compare(0, op.size(), AbslView(op).data(), op.size()) != 0) {
      message = fmt::format("{}: {}", op, message);
    }
    if (!names.empty()) {
      message += fmt::format(" [inputs: {}]", fmt::join(names, ", "));
    }
    status_ = MakeStatus(error.code(), message);
  }
  return Var(this, -1, generation_);
}

Status Tape::CheckVar(Var v) const {
  if (v.tape_ == nullptr) {
    return InvalidArgument(
        "an empty Var: it was never assigned, or comes from an operation "
        "without inputs");
  }
  if (v.tape_ != this) {
    return InvalidArgument("a Var of another tape");
  }
  if (v.generation_ != generation_) {
    return FailedPrecondition(
        "a Var from before the last Reset() of its tape: compute it again");
  }
  if (v.node_ < 0) {
    CHECK(!status_.ok());
    return status_;
  }
  return OkStatus();
}

Var Tape::Input(std::string_view name, const Shape& shape, DType dtype) {
  if (inputs_.contains(std::string(name))) {
    return Fail("Input", {},
                AlreadyExists(fmt::format("'{}' is declared already", name)));
  }
  auto node = std::make_unique<Node>();
  node->kind = Node::Kind::kInput;
  node->name = std::string(name);
  node->declared = shape;
  node->declared_dtype = dtype;
  const Var v = Append(std::move(node));
  inputs_[std::string(name)] = v.node_;
  return v;
}

Status Tape::Feed(std::string_view name, ConstTensorView value) {
  const auto found = inputs_.find(std::string(name));
  if (found == inputs_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, node] : inputs_) names.push_back(known);
    std::sort(names.begin(), names.end());
    return NotFound(fmt::format(
        "Feed: no input '{}'; declared: {}", name,
        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  Node& node = *nodes_[found->second];
  if (node.used) {
    return FailedPrecondition(fmt::format(
        "Feed: input '{}' has been used already; Reset() the tape before the "
        "next step",
        name));
  }
  if (value.dtype() != node.declared_dtype ||
      !Fits(value.shape(), node.declared)) {
    return InvalidArgument(fmt::format(
        "Feed: input '{}' was declared as {} {}, fed with {}", name,
        Name(node.declared_dtype), node.declared.ToString(), value.ToString()));
  }
  RETURN_IF_ERROR(CheckView(ctx_, "Feed: input", name, value));
  node.value = value;
  node.fed = true;
  return OkStatus();
}

Var Tape::Leaf(std::string_view name, ConstTensorView value) {
  const auto found = leaves_.find(std::string(name));
  if (found != leaves_.end()) {
    const ConstTensorView& known = nodes_[found->second]->value;
    if (known.raw() == value.raw() && known.shape() == value.shape() &&
        known.strides() == value.strides()) {
      return Var(this, found->second, generation_);
    }
    return Fail(
        "Leaf", {},
        AlreadyExists(fmt::format("'{}' is another tensor, {}, on this tape",
                                  name, known.ToString())));
  }
  if (const Status status = CheckView(ctx_, "Leaf:", name, value);
      !status.ok()) {
    return Fail("Leaf", {}, status);
  }
  auto node = std::make_unique<Node>();
  node->kind = Node::Kind::kLeaf;
  node->name = std::string(name);
  node->value = value;
  const Var v = Append(std::move(node));
  leaves_[std::string(name)] = v.node_;
  return v;
}

std::optional<Var> Tape::FindLeaf(std::string_view name,
                                  ConstTensorView value) {
  const auto found = leaves_.find(std::string(name));
  if (found == leaves_.end() ||
      nodes_[found->second]->value.raw() != value.raw()) {
    return std::nullopt;
  }
  return Var(this, found->second, generation_);
}

Var Tape::Constant(float value, const Shape& shape) {
  return Apply(
      "Constant", {},
      [&](ForwardCall& call) -> Status {
        ASSIGN_OR_RETURN(TensorView y, call.NewOutput(shape));
        return Fill(ctx_, value, y);
      },
      nullptr);
}

Status Tape::CheckUsable(std::string_view op, absl::Span<const Var> inputs) {
  for (const Var& input : inputs) {
    RETURN_IF_ERROR(CheckVar(input));
    Node& node = *nodes_[input.node_];
    if (node.kind == Node::Kind::kInput && !node.fed) {
      return FailedPrecondition(fmt::format(
          "{}: input '{}' was not fed: call tape.Feed(\"{}\", view of {} {}) "
          "before its first use",
          op, node.name, node.name, Name(node.declared_dtype),
          node.declared.ToString()));
    }
    node.used = true;
  }
  return OkStatus();
}

Var Tape::Apply(std::string_view op, absl::Span<const Var> inputs,
                ForwardFn forward, BackwardFn backward) {
  if (const Status status = CheckUsable(op, inputs); !status.ok()) {
    return Fail(op, inputs, status);
  }
  auto node = std::make_unique<Node>();
  node->name = std::string(op);
  for (const Var& input : inputs) node->inputs.push_back(input.node_);
  node->backward = std::move(backward);
  ForwardCall call(*this, *node);
  if (const Status status = forward(call); !status.ok()) {
    return Fail(op, inputs, status);
  }
  return Append(std::move(node));
}

StatusOr<ConstTensorView> Tape::Value(Var v) const {
  RETURN_IF_ERROR(Annotate(CheckVar(v), "Value"));
  const Node& node = *Find(v);
  if (node.kind == Node::Kind::kInput && !node.fed) {
    return FailedPrecondition(fmt::format(
        "Value: input '{}' was not fed: call tape.Feed(\"{}\", ...)", node.name,
        node.name));
  }
  return node.value;
}

StatusOr<float> Tape::Item(Var v) const {
  ASSIGN_OR_RETURN(const ConstTensorView value, Value(v));
  if (value.dtype() != DType::kFloat32 || value.elems() != 1) {
    return InvalidArgument(
        fmt::format("Item: {} is {}, expected float32 of one element",
                    Find(v)->display, value.ToString()));
  }
  return *value.data<float>();
}

StatusOr<absl::Span<char>> Tape::Workspace(int64_t bytes) {
  if (workspace_.bytes() < bytes || workspace_.empty()) {
    workspace_ = Tensor();  // not both at once
    ASSIGN_OR_RETURN(workspace_,
                     Tensor::Empty(resource_, DType::kUInt8, {bytes}));
  }
  return absl::MakeSpan(static_cast<char*>(workspace_.view().raw()),
                        workspace_.bytes());
}

}  // namespace densenet
