#include "parallel/parameter_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "memory/host_memory.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tolerance.h"

namespace densenet {
namespace {

using Floats = std::vector<float>;

// Statistical bounds allow this many standard errors of the estimate.
constexpr double kStandardErrors = 5;

Floats Copy(absl::Span<const float> values) {
  return {values.begin(), values.end()};
}
Floats Copy(TensorView view) {
  return Copy(absl::MakeSpan(view.data<float>(), view.elems()));
}

std::vector<ParameterSpec> Parameters() {
  return {{"conv.weight", {3, 3, 16, 24}, InitialValue::kHeFanOut},
          {"norm.weight", {16}, InitialValue::kOnes},
          {"norm.bias", {16}, InitialValue::kZeros},
          {"classifier.weight", {100, 40}, InitialValue::kLinearUniform}};
}

std::vector<ParameterSpec> Statistics() {
  return {{"norm.running_mean", {16}, InitialValue::kZeros},
          {"norm.running_var", {16}, InitialValue::kOnes}};
}

class ParameterStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<ParameterStore> Make(std::vector<ParameterSpec> parameters,
                                       int slots = 1) {
    auto store = ParameterStore::Create(memory_, std::move(parameters),
                                        Statistics(), slots);
    CHECK(store.ok()) << store.status();
    return std::move(*store);
  }

  HostMemory memory_;
  std::unique_ptr<Context> ctx_ = testing::MakeContext(2);
};

TEST_F(ParameterStoreTest, ArraysAreFlatInTheOrderOfTheSpecs) {
  auto store = Make(Parameters(), /*slots=*/2);
  const int64_t total = 9 * 16 * 24 + 32 + 4000;
  EXPECT_EQ(store->values().size(), static_cast<size_t>(total));
  EXPECT_EQ(store->gradients().size(), static_cast<size_t>(total));
  EXPECT_EQ(store->slots(), 2);
  EXPECT_EQ(store->statistics_values().size(), 32u);
  int64_t offset = 0;
  for (size_t i = 0; i < store->parameters().size(); ++i) {
    const ParameterSpec& spec = store->parameters()[i];
    const int64_t index = store->IndexOf(spec.name);
    EXPECT_EQ(index, static_cast<int64_t>(i));
    EXPECT_EQ(store->value(index).shape(), spec.shape);
    EXPECT_TRUE(store->value(index).IsPacked());
    EXPECT_EQ(store->value(index).raw(), store->values().data() + offset);
    EXPECT_EQ(store->gradient(index).raw(), store->gradients().data() + offset);
    EXPECT_EQ(store->slot(1, index).raw(), store->slot(1).data() + offset);
    EXPECT_EQ(store->slot(0, index).shape(), spec.shape);
    offset += spec.shape.elems();
  }
  EXPECT_EQ(offset, total);
  const int64_t var = store->StatisticIndexOf("norm.running_var");
  EXPECT_EQ(var, 1);
  EXPECT_EQ(store->statistic(var).raw(),
            store->statistics_values().data() + 16);
}

TEST_F(ParameterStoreTest, TakesTheDocumentedBytes) {
  const int64_t parameters = 9 * 16 * 24 + 32 + 4000;
  for (int slots : {0, 1, 3}) {
    auto store = Make(Parameters(), slots);
    EXPECT_EQ(memory_.stats().active_bytes,
              4 * ((2 + slots) * parameters + 32));
    store->Initialize(*ctx_, 1);
    store.reset();
    EXPECT_EQ(memory_.stats().active_bytes, 0);
  }
}

TEST_F(ParameterStoreTest, NoRoomIsAnError) {
  HostMemory small(/*limit_bytes=*/100);
  EXPECT_THAT(ParameterStore::Create(small, Parameters(), {}, 0),
              testing::Fails(StatusCode::kResourceExhausted, {"100"}));
  EXPECT_EQ(small.stats().active_bytes, 0);
}

TEST_F(ParameterStoreTest, ANameTwiceIsAnError) {
  auto twice = Parameters();
  twice.push_back(twice[1]);
  EXPECT_THAT(ParameterStore::Create(memory_, twice, {}, 0),
              testing::Fails(StatusCode::kAlreadyExists, {"norm.weight"}));
  auto statistics = Statistics();
  statistics.push_back(statistics[0]);
  EXPECT_THAT(
      ParameterStore::Create(memory_, Parameters(), statistics, 0),
      testing::Fails(StatusCode::kAlreadyExists, {"norm.running_mean"}));
}

TEST_F(ParameterStoreTest, InitializesConstantsAndClearsTheRest) {
  auto store = Make(Parameters(), /*slots=*/2);
  for (absl::Span<float> flat :
       {store->values(), store->gradients(), store->slot(0), store->slot(1),
        store->statistics_values()}) {
    std::fill(flat.begin(), flat.end(), 3.0f);
  }
  store->Initialize(*ctx_, 1);
  EXPECT_EQ(Copy(store->value(1)), Floats(16, 1.0f));
  EXPECT_EQ(Copy(store->value(2)), Floats(16, 0.0f));
  EXPECT_EQ(Copy(store->statistic(0)), Floats(16, 0.0f));
  EXPECT_EQ(Copy(store->statistic(1)), Floats(16, 1.0f));
  const Floats zeros(store->values().size(), 0.0f);
  EXPECT_EQ(Copy(store->gradients()), zeros);
  EXPECT_EQ(Copy(store->slot(0)), zeros);
  EXPECT_EQ(Copy(store->slot(1)), zeros);
}

TEST_F(ParameterStoreTest, FiltersHaveHesDeviation) {
  auto store = Make(Parameters());
  store->Initialize(*ctx_, 1);
  const Floats w = Copy(store->value(0));
  double sum = 0, squares = 0;
  for (float v : w) {
    sum += v;
    squares += double{v} * v;
  }
  const double n = static_cast<double>(w.size());
  const double expected = std::sqrt(2.0 / (9 * 24));  // fan-out
  EXPECT_LE(std::abs(sum / n), kStandardErrors * expected / std::sqrt(n));
  EXPECT_LE(std::abs(std::sqrt(squares / n) / expected - 1),
            kStandardErrors / std::sqrt(2 * n));
}

TEST_F(ParameterStoreTest, LinearWeightsAreUniform) {
  auto store = Make(Parameters());
  store->Initialize(*ctx_, 1);
  const Floats w = Copy(store->value(3));
  const double bound = 1 / std::sqrt(100.0);
  const auto [low, high] = std::minmax_element(w.begin(), w.end());
  const double rounded =
      bound * (1 + testing::RelativeTolerance(DType::kFloat32, 1));
  EXPECT_GE(*low, -rounded);
  EXPECT_LE(*high, rounded);
  double sum = 0, squares = 0;
  for (float v : w) {
    sum += v;
    squares += double{v} * v;
  }
  const double n = static_cast<double>(w.size());
  const double deviation = bound / std::sqrt(3.0);
  EXPECT_LE(std::abs(sum / n), kStandardErrors * deviation / std::sqrt(n));
  // The variance of v^2 is (1/5 - 1/9) bound^4.
  EXPECT_LE(std::abs(squares / n - deviation * deviation),
            kStandardErrors * std::sqrt(4.0 / 45 / n) * bound * bound);
}

TEST_F(ParameterStoreTest, AnInitialValueDependsOnNameAndSeedAlone) {
  auto one = Make(Parameters());
  auto reversed_specs = Parameters();
  std::reverse(reversed_specs.begin(), reversed_specs.end());
  auto reversed = Make(reversed_specs);
  auto renamed_specs = Parameters();
  renamed_specs[0].name = "conv2.weight";
  auto renamed = Make(renamed_specs);
  for (auto* store : {one.get(), reversed.get(), renamed.get()}) {
    store->Initialize(*ctx_, 5);
  }
  const Floats conv = Copy(one->value(0));
  EXPECT_EQ(conv, Copy(reversed->value(reversed->IndexOf("conv.weight"))));
  EXPECT_EQ(Copy(one->value(3)),
            Copy(reversed->value(reversed->IndexOf("classifier.weight"))));
  EXPECT_NE(conv, Copy(renamed->value(0)));
  one->Initialize(*ctx_, 6);
  EXPECT_NE(conv, Copy(one->value(0)));
  one->Initialize(*ctx_, 5);
  EXPECT_EQ(conv, Copy(one->value(0)));
}

using ParameterStoreDeathTest = ParameterStoreTest;

TEST_F(ParameterStoreDeathTest, AnUnknownNameIsOurBug) {
  auto store = Make(Parameters());
  EXPECT_DEATH(store->IndexOf("conv.bias"), "no parameter named conv.bias");
}

}  // namespace
}  // namespace densenet
