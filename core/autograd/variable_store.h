// core/autograd/variable_store.h
//
// The variables of a net of your own: parameters, and state such as running
// statistics, under names like "block1/conv/weight". A net asks its Scope for
// them; what the scope answers follows from how it treats existing ones:
//
//   VariableStore store(ctx, memory, seed);
//   Scope net = store.scope(Reuse::kCreateOrReuse);  // for a training loop
//   ASSIGN_OR_RETURN(Variable* w, (net / "conv").Get("weight", {3, 3, 3, 16},
//                                                    Initializer::HeFanOut()));
//   Var y = Conv2d(x, w->On(tape));
//
// Memory    the values, from the resource, until the store is destroyed
// Errors    AlreadyExists    kCreate of a variable that exists
//           NotFound         kReuse of one that does not
//           InvalidArgument  another shape or trainable flag than the existing
//                            one; what Initialize refuses
// Numerics  first values follow from (seed, name) alone
// Threads   one thread of control

#ifndef DENSENET_CORE_AUTOGRAD_VARIABLE_STORE_H_
#define DENSENET_CORE_AUTOGRAD_VARIABLE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/types/span.h"
#include "core/autograd/tape.h"
#include "core/context.h"
#include "core/memory_resource.h"
#include "core/ops/initializers.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

struct Variable {
  std::string name;
  bool trainable = true;
  Tensor value;

  // The variable as a leaf of a tape.
  Var On(Tape& tape) { return tape.Leaf(name, value.const_view()); }
};

// What a scope does when asked for a variable.
enum class Reuse {
  kCreate,         // it must not exist
  kReuse,          // it must exist
  kCreateOrReuse,  // either
};

class VariableStore;

// A prefix of names, and what to do with existing variables. A handle.
class Scope {
 public:
  // This scope's name, "/", and `name`.
  Scope operator/(std::string_view name) const;
  Scope With(Reuse reuse) const;

  const std::string& name() const { return name_; }
  VariableStore& store() const { return *store_; }

  // The variable `name` of this scope; stays where it is for the life of the
  // store. `initializer` is for one that is created. The source of
  // Initializer::Scaled is a full name.
  StatusOr<Variable*> Get(std::string_view name, const Shape& shape,
                          const Initializer& initializer,
                          bool trainable = true) const;

 private:
  friend class VariableStore;
  Scope(VariableStore* store, std::string name, Reuse reuse)
      : store_(store), name_(std::move(name)), reuse_(reuse) {}

  VariableStore* store_;
  std::string name_;
  Reuse reuse_;
};

struct VariableGradient {
  Variable* variable = nullptr;
  Tensor gradient;
};

class VariableStore {
 public:
  // Both must outlive the store.
  VariableStore(const Context& ctx, MemoryResource& resource, uint64_t seed);

  // The scope without a name.
  Scope scope(Reuse reuse = Reuse::kCreate) { return Scope(this, "", reuse); }

  // Null when there is none.
  Variable* Find(std::string_view name) const;
  // In the order of creation.
  const std::vector<std::unique_ptr<Variable>>& variables() const {
    return variables_;
  }
  // Elements of the trainable variables, or of all.
  int64_t TrainableElems() const;
  int64_t AllElems() const;

  // The gradients of ys, as Tape::Gradients, for every trainable variable that
  // is on the tape, in the order of creation.
  // Errors  NotFound            no y depends on one of them; names it
  //         FailedPrecondition  no variable of this store is on the tape
  StatusOr<std::vector<VariableGradient>> Gradients(
      Tape& tape, absl::Span<const Var> ys) const;

  const Context& ctx() const { return ctx_; }
  uint64_t seed() const { return seed_; }

 private:
  friend class Scope;

  StatusOr<Variable*> Create(const std::string& name, const Shape& shape,
                             const Initializer& initializer, bool trainable);

  const Context& ctx_;
  MemoryResource& resource_;
  const uint64_t seed_;
  std::vector<std::unique_ptr<Variable>> variables_;
  std::unordered_map<std::string, Variable*> by_name_;
};

}  // namespace densenet

#endif  // DENSENET_CORE_AUTOGRAD_VARIABLE_STORE_H_
