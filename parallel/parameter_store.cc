#include "parallel/parameter_store.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/ops/initializers.h"

namespace densenet {
namespace {

Initializer InitializerOf(const ParameterSpec& spec) {
  switch (spec.initial) {
    case InitialValue::kZeros:
      return Initializer::Constant(0);
    case InitialValue::kOnes:
      return Initializer::Constant(1);
    case InitialValue::kHeFanOut:
      return Initializer::HeFanOut();
    case InitialValue::kLinearUniform: {
      const double bound = 1 / std::sqrt(static_cast<double>(spec.shape[0]));
      return Initializer::Uniform(-bound, bound);
    }
  }
  LOG(FATAL) << "no such initial value";
}

// A specification that cannot be filled is our bug: shapes come from a model.
void Fill(const Context& ctx, const ParameterSpec& spec, uint64_t seed,
          TensorView view) {
  const Status status =
      densenet::Initialize(ctx, InitializerOf(spec), seed, spec.name, {}, view);
  CHECK(status.ok()) << spec.name << ": " << status;
}

Status Index(const std::vector<ParameterSpec>& specs,
             std::vector<int64_t>& offsets,
             std::unordered_map<std::string, int64_t>& names) {
  int64_t offset = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    offsets.push_back(offset);
    offset += specs[i].shape.elems();
    if (!names.emplace(specs[i].name, static_cast<int64_t>(i)).second) {
      return AlreadyExists(
          fmt::format("parameter '{}' is given twice", specs[i].name));
    }
  }
  offsets.push_back(offset);
  return OkStatus();
}

TensorView Part(Tensor& flat, int64_t offset, const Shape& shape) {
  CHECK(!flat.empty()) << "the store is a layout without arrays";
  return TensorView(flat.data<float>() + offset, DType::kFloat32, shape);
}

int64_t Find(const std::unordered_map<std::string, int64_t>& names,
             std::string_view name) {
  auto it = names.find(std::string(name));
  CHECK(it != names.end()) << "no parameter named " << name;
  return it->second;
}

}  // namespace

StatusOr<std::unique_ptr<ParameterStore>> ParameterStore::CreateLayout(
    std::vector<ParameterSpec> parameters,
    std::vector<ParameterSpec> statistics) {
  std::unique_ptr<ParameterStore> store(new ParameterStore);
  store->parameters_ = std::move(parameters);
  store->statistics_ = std::move(statistics);
  RETURN_IF_ERROR(Index(store->parameters_, store->parameter_offsets_,
                        store->parameter_names_));
  RETURN_IF_ERROR(Index(store->statistics_, store->statistic_offsets_,
                        store->statistic_names_));
  return store;
}

StatusOr<std::unique_ptr<ParameterStore>> ParameterStore::Create(
    MemoryResource& resource, std::vector<ParameterSpec> parameters,
    std::vector<ParameterSpec> statistics, int slots) {
  ASSIGN_OR_RETURN(std::unique_ptr<ParameterStore> store,
                   CreateLayout(std::move(parameters), std::move(statistics)));
  auto zeros = [&](int64_t elems) {
    return Tensor::Zeros(resource, DType::kFloat32, {elems});
  };
  const int64_t elems = store->parameter_offsets_.back();
  ASSIGN_OR_RETURN(store->values_, zeros(elems));
  ASSIGN_OR_RETURN(store->gradients_, zeros(elems));
  for (int i = 0; i < slots; ++i) {
    ASSIGN_OR_RETURN(Tensor slot, zeros(elems));
    store->slots_.push_back(std::move(slot));
  }
  ASSIGN_OR_RETURN(store->statistics_values_,
                   zeros(store->statistic_offsets_.back()));
  return store;
}

StatusOr<std::unique_ptr<ParameterStore>> ParameterStore::CreateTower(
    MemoryResource& resource, ParameterStore& hosted) {
  ASSIGN_OR_RETURN(std::unique_ptr<ParameterStore> store,
                   CreateLayout(hosted.parameters_, hosted.statistics_));
  store->hosted_ = &hosted;
  ASSIGN_OR_RETURN(store->gradients_,
                   Tensor::Zeros(resource, DType::kFloat32,
                                 {store->parameter_offsets_.back()}));
  ASSIGN_OR_RETURN(store->statistics_values_,
                   Tensor::Zeros(resource, DType::kFloat32,
                                 {store->statistic_offsets_.back()}));
  return store;
}

void ParameterStore::Initialize(const Context& ctx, uint64_t seed) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Fill(ctx, parameters_[i], seed, value(i));
  }
  for (size_t i = 0; i < statistics_.size(); ++i) {
    Fill(ctx, statistics_[i], seed, statistic(i));
  }
  auto zero = [](absl::Span<float> flat) {
    std::fill(flat.begin(), flat.end(), 0.0f);
  };
  zero(gradients());
  for (int i = 0; i < slots(); ++i) zero(slot(i));
}

TensorView ParameterStore::value(int64_t index) {
  return Part(hosted_ == nullptr ? values_ : hosted_->values_,
              parameter_offsets_[index], parameters_[index].shape);
}

TensorView ParameterStore::gradient(int64_t index) {
  return Part(gradients_, parameter_offsets_[index], parameters_[index].shape);
}

TensorView ParameterStore::slot(int i, int64_t index) {
  return Part(slots_[i], parameter_offsets_[index], parameters_[index].shape);
}

TensorView ParameterStore::statistic(int64_t index) {
  return Part(statistics_values_, statistic_offsets_[index],
              statistics_[index].shape);
}

int64_t ParameterStore::IndexOf(std::string_view parameter) const {
  return Find(parameter_names_, parameter);
}

int64_t ParameterStore::StatisticIndexOf(std::string_view statistic) const {
  return Find(statistic_names_, statistic);
}

}  // namespace densenet
