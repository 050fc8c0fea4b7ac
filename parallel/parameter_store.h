// parallel/parameter_store.h
//
// The parameters of a network, their gradients, the optimizer's slots and the
// running statistics, once, in host memory. Each group is one flat array in
// the order of the specs, so that averaging, clipping, updating and saving are
// loops over one array; a tower reads and writes views of its parts. A tower on
// the host has a store of its own that reads the values of the hosted one.

#ifndef DENSENET_PARALLEL_PARAMETER_STORE_H_
#define DENSENET_PARALLEL_PARAMETER_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/types/span.h"
#include "core/context.h"
#include "core/shape.h"
#include "core/status.h"
#include "core/tensor.h"

namespace densenet {

enum class InitialValue {
  kZeros,
  kOnes,
  // Normal with deviation sqrt(2 / (R * S * K)) for filters (R, S, C, K).
  kHeFanOut,
  // Uniform in +-1/sqrt(C) for a weight (C, K) (PyTorch's linear layer).
  kLinearUniform,
};

struct ParameterSpec {
  std::string name;
  Shape shape;
  InitialValue initial = InitialValue::kZeros;
};

class ParameterStore {
 public:
  // Memory  4 bytes x ((2 + slots) x parameters + statistics) of `resource`,
  //         and nothing else
  // Errors  ResourceExhausted  no room
  //         AlreadyExists      a name given twice
  static StatusOr<std::unique_ptr<ParameterStore>> Create(
      MemoryResource& resource, std::vector<ParameterSpec> parameters,
      std::vector<ParameterSpec> statistics, int slots);

  // The same without its arrays: names, shapes and order, to plan with. CHECKs
  // fail on access to values.
  static StatusOr<std::unique_ptr<ParameterStore>> CreateLayout(
      std::vector<ParameterSpec> parameters,
      std::vector<ParameterSpec> statistics);

  // A tower's: the values of `hosted`, which must outlive it, with gradients
  // and running statistics of its own and no slots.
  // Memory  4 bytes x (parameters + statistics) of `resource`
  // Errors  ResourceExhausted  no room
  static StatusOr<std::unique_ptr<ParameterStore>> CreateTower(
      MemoryResource& resource, ParameterStore& hosted);

  // Initial values from the counter-based stream of each name: independent of
  // order and threads. Gradients and slots become zero.
  void Initialize(const Context& ctx, uint64_t seed);

  const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  const std::vector<ParameterSpec>& statistics() const { return statistics_; }
  int slots() const { return static_cast<int>(slots_.size()); }

  // Flat arrays: all parameters one after the other.
  absl::Span<float> values() {
    return Flat(hosted_ == nullptr ? values_ : hosted_->values_);
  }
  absl::Span<float> gradients() { return Flat(gradients_); }
  absl::Span<float> slot(int i) { return Flat(slots_[i]); }
  absl::Span<float> statistics_values() { return Flat(statistics_values_); }

  // Part `index` of a flat array of the parameters / the statistics.
  TensorView value(int64_t index);
  TensorView gradient(int64_t index);
  TensorView slot(int i, int64_t index);
  TensorView statistic(int64_t index);

  // Where a parameter begins in the flat arrays.
  int64_t OffsetOf(int64_t index) const { return parameter_offsets_[index]; }

  // CHECKs that the name exists: callers use names of their own specs.
  int64_t IndexOf(std::string_view parameter) const;
  int64_t StatisticIndexOf(std::string_view statistic) const;

 private:
  using Names = std::unordered_map<std::string, int64_t>;

  static absl::Span<float> Flat(Tensor& tensor) {
    return absl::MakeSpan(tensor.data<float>(), tensor.elems());
  }

  std::vector<ParameterSpec> parameters_;
  std::vector<ParameterSpec> statistics_;
  std::vector<int64_t> parameter_offsets_;
  std::vector<int64_t> statistic_offsets_;
  Names parameter_names_;
  Names statistic_names_;
  ParameterStore* hosted_ = nullptr;
  Tensor values_;
  Tensor gradients_;
  std::vector<Tensor> slots_;
  Tensor statistics_values_;
};

}  // namespace densenet

#endif  // DENSENET_PARALLEL_PARAMETER_STORE_H_
