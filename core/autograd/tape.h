// core/autograd/tape.h
//
// Reverse-mode differentiation for losses, heads and experiments. Operations
// on Vars run at once and leave on the tape what their gradients need:
//
//   Tape tape(ctx, memory);
//   Var x = tape.Input("images", {-1, 32, 32, 3});
//   RETURN_IF_ERROR(tape.Feed("images", images));
//   Var w = tape.Leaf("conv/weight", weight);
//   Var loss = ReduceMean(Relu(Conv2d(x, w, params)));
//   ASSIGN_OR_RETURN(std::vector<Tensor> gradients,
//                    tape.Gradients({loss}, {w}));
//
// Operations on Vars stand in math.h, shaping.h, nn.h and losses.h beside this
// file; op_call.h says how to write one.
//
// Shapes    as each operation says; values are row-strided views
// Types     float32; labels int32
// Memory    values, and scratch that grows to the largest an operation needs,
//           come from the resource and return to it when the tape is reset or
//           destroyed. A gradient returns as soon as it has been consumed.
//           Inputs and leaves are views: their owner keeps them alive, and
//           unchanged, until the last use of the tape.
// Stream    as the operations
// Errors    sticky: an operation that fails gives a poisoned Var, whatever is
//           computed from it is poisoned, and the tape keeps the first error,
//           which Value, Item and Gradients return
// Threads   one thread of control; operations work on ctx.threads()

#ifndef DENSENET_CORE_AUTOGRAD_TAPE_H_
#define DENSENET_CORE_AUTOGRAD_TAPE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "core/context.h"
#include "core/memory_resource.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

class BackwardCall;  // core/autograd/op_call.h
class ForwardCall;
class Tape;

// A value on a tape: a handle, cheap to copy, valid until the tape is reset.
class Var {
 public:
  Var() = default;

  // False for a poisoned Var, one of a reset tape, and Var().
  bool ok() const;
  Tape* tape() const { return tape_; }
  // Of a Var that is ok(); () otherwise.
  Shape shape() const;
  // "images", "conv/weight", or the operation and its number, "Relu:16".
  std::string name() const;

 private:
  friend class Tape;
  Var(Tape* tape, int64_t node, uint64_t generation)
      : tape_(tape), node_(node), generation_(generation) {}

  Tape* tape_ = nullptr;
  int64_t node_ = -1;
  uint64_t generation_ = 0;
};

class Tape {
 public:
  using ForwardFn = absl::FunctionRef<Status(ForwardCall&)>;
  using BackwardFn = std::function<Status(BackwardCall&)>;

  // Both must outlive the tape; the resource also the gradients.
  Tape(const Context& ctx, MemoryResource& resource);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Declares an input; an extent of -1 takes any. Its first use must come
  // after Feed.
  // Errors  AlreadyExists  the name is declared already
  Var Input(std::string_view name, const Shape& shape,
            DType dtype = DType::kFloat32);
  // Gives a declared input its value, by reference.
  // Errors  NotFound            no such input; lists those declared
  //         InvalidArgument     another shape, type or device; not row-strided
  //         FailedPrecondition  an operation has used the input already
  Status Feed(std::string_view name, ConstTensorView value);

  // A value that somebody else owns and that gradients may be asked of: a
  // variable, say. The same name again gives the same Var.
  // Errors  AlreadyExists    the name belongs to another tensor
  //         InvalidArgument  not row-strided; another device
  Var Leaf(std::string_view name, ConstTensorView value);
  // The leaf of this name and memory, if it is on the tape.
  std::optional<Var> FindLeaf(std::string_view name, ConstTensorView value);
  // `value` in every element.
  Var Constant(float value, const Shape& shape = {});

  // Valid until the tape is reset.
  StatusOr<ConstTensorView> Value(Var v) const;
  // The value of a float32 Var of one element.
  StatusOr<float> Item(Var v) const;

  // The gradient of the sum of all elements of all `ys` for each of `xs`, in a
  // tensor of its shape. May be called repeatedly.
  // Errors  NotFound         no y depends on an x; names it
  //         InvalidArgument  an x or y is not float32
  //         Unimplemented    an x reaches a y only through an input that the
  //                          operation has no gradient for
  StatusOr<std::vector<Tensor>> Gradients(absl::Span<const Var> ys,
                                          absl::Span<const Var> xs);

  // The first error since the last Reset.
  const Status& status() const { return status_; }
  // Forgets all values, inputs, leaves and the error; Vars become invalid.
  void Reset();

  const Context& ctx() const { return ctx_; }
  MemoryResource& resource() const { return resource_; }

  // Runs an operation and records it; see op_call.h.
  Var Apply(std::string_view op, absl::Span<const Var> inputs,
            ForwardFn forward, BackwardFn backward);
  // Keeps `error`, which `op` met with these inputs, unless there is one
  // already, and returns a poisoned Var.
  Var Fail(std::string_view op, absl::Span<const Var> inputs,
           const Status& error);

 private:
  friend class BackwardCall;
  friend class ForwardCall;
  friend class Var;
  struct Node;

  const Node* Find(Var v) const;
  Var Append(std::unique_ptr<Node> node);
  // The error of using v, if any.
  Status CheckVar(Var v) const;
  Status CheckUsable(std::string_view op, absl::Span<const Var> inputs);
  StatusOr<absl::Span<char>> Workspace(int64_t bytes);
  // Marks the nodes between xs and ys; see gradients.cc.
  StatusOr<std::vector<bool>> ActiveNodes(absl::Span<const Var> ys,
                                          absl::Span<const Var> xs) const;
  Status AddOnes(int64_t node, std::vector<Tensor>& gradients);
  Status Propagate(int64_t node, const std::vector<bool>& active,
                   std::vector<Tensor>& gradients);

  const Context& ctx_;
  MemoryResource& resource_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::string, int64_t> inputs_;
  std::unordered_map<std::string, int64_t> leaves_;
  Tensor workspace_;
  Status status_;
  uint64_t generation_ = 1;
};

}  // namespace densenet

#endif  // DENSENET_CORE_AUTOGRAD_TAPE_H_
