#include "core/autograd/variable_store.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <optional>
#include <utility>

namespace densenet {
namespace {

std::string Join(const std::string& scope, std::string_view name) {
  return scope.empty() ? std::string(name) : fmt::format("{}/{}", scope, name);
}

std::string_view Kind(bool trainable) {
  return trainable ? "trainable" : "not trainable";
}

}  // namespace

Scope Scope::operator/(std::string_view name) const {
  return Scope(store_, Join(name_, name), reuse_);
}

Scope Scope::With(Reuse reuse) const { return Scope(store_, name_, reuse); }

StatusOr<Variable*> Scope::Get(std::string_view name, const Shape& shape,
                               const Initializer& initializer,
                               bool trainable) const {
  const std::string full = Join(name_, name);
  Variable* existing = store_->Find(full);
  if (existing == nullptr) {
    if (reuse_ == Reuse::kReuse) {
      return NotFound(fmt::format(
          "variable '{}' does not exist and its scope only reuses: create it "
          "first, or use Reuse::kCreateOrReuse",
          full));
    }
    return store_->Create(full, shape, initializer, trainable);
  }
  if (reuse_ == Reuse::kCreate) {
    return AlreadyExists(fmt::format(
        "variable '{}' {} exists already: give this one another scope, or "
        "share it with Reuse::kReuse",
        full, existing->value.shape().ToString()));
  }
  if (existing->value.shape() != shape) {
    return InvalidArgument(fmt::format(
        "variable '{}' exists with shape {}, asked for with {}: use another "
        "scope, or the shape it has",
        full, existing->value.shape().ToString(), shape.ToString()));
  }
  if (existing->trainable != trainable) {
    return InvalidArgument(fmt::format(
        "variable '{}' is {}, asked for as {}: use another scope, or the same "
        "flag",
        full, Kind(existing->trainable), Kind(trainable)));
  }
  return existing;
}

VariableStore::VariableStore(const Context& ctx, MemoryResource& resource,
                             uint64_t seed)
    : ctx_(ctx), resource_(resource), seed_(seed) {}

Variable* VariableStore::Find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : found->second;
}

StatusOr<Variable*> VariableStore::Create(const std::string& name,
                                          const Shape& shape,
                                          const Initializer& initializer,
                                          bool trainable) {
  auto variable = std::make_unique<Variable>();
  variable->name = name;
  variable->trainable = trainable;
  StatusOr<Tensor> value = Tensor::Empty(resource_, DType::kFloat32, shape);
  if (!value.ok()) {
    return Annotate(value.status(), fmt::format("variable '{}'", name));
  }
  variable->value = std::move(*value);
  const Variable* source = Find(initializer.source);
  RETURN_IF_ERROR(Initialize(
      ctx_, initializer, seed_, name,
      source == nullptr ? ConstTensorView() : source->value.const_view(),
      variable->value.view()));
  variables_.push_back(std::move(variable));
  by_name_[name] = variables_.back().get();
  return variables_.back().get();
}

int64_t VariableStore::TrainableElems() const {
  int64_t elems = 0;
  for (const auto& variable : variables_) {
    if (variable->trainable) elems += variable->value.elems();
  }
  return elems;
}

int64_t VariableStore::AllElems() const {
  int64_t elems = 0;
  for (const auto& variable : variables_) elems += variable->value.elems();
  return elems;
}

StatusOr<std::vector<VariableGradient>> VariableStore::Gradients(
    Tape& tape, absl::Span<const Var> ys) const {
  std::vector<VariableGradient> result;
  std::vector<Var> xs;
  for (const auto& variable : variables_) {
    if (!variable->trainable) continue;
    const std::optional<Var> x =
        tape.FindLeaf(variable->name, variable->value.const_view());
    if (!x.has_value()) continue;
    xs.push_back(*x);
    result.push_back({variable.get(), Tensor()});
  }
  RETURN_IF_ERROR(tape.status());
  if (xs.empty()) {
    return FailedPrecondition(
        "no trainable variable of this store is on the tape: compute the loss "
        "from the store's variables, on this tape, since its last Reset()");
  }
  ASSIGN_OR_RETURN(std::vector<Tensor> gradients, tape.Gradients(ys, xs));
  for (size_t i = 0; i < xs.size(); ++i) {
    result[i].gradient = std::move(gradients[i]);
  }
  return result;
}

}  // namespace densenet
