#include "core/layers/layers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/autograd/losses.h"
#include "core/autograd/math.h"
#include "core/autograd/shaping.h"
#include "core/optim/variable_optimizer.h"
#include "memory/host_memory.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_tensor.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::Fails;
using ::densenet::testing::MakeContext;
using ::densenet::testing::TestTensor;
using ::densenet::testing::ToVector;

constexpr int64_t kBatch = 12;
constexpr int64_t kClasses = 3;
constexpr PoolParams kHalve = {2, 2, {2, 2}, {}};

// A dense layer in small: the features of a convolution join its input.
Var Net(const Scope& net, Var x, const Pass& pass) {
  x = layers::Conv2d(net / "stem", x, {.filters = 6});
  Var y = Relu(layers::BatchNorm(net / "norm", x, pass));
  y = layers::Conv2d(net / "conv", y, {.filters = 4, .bias = true});
  y = layers::Dropout(net / "drop", y, 0.1, pass);
  x = AvgPool(Concat({x, y}, -1), kHalve);
  x = MaxPool(Relu(layers::BatchNorm(net / "last", x, pass)), kHalve);
  return layers::Dense(net / "dense", layers::Flatten(x), {.units = kClasses});
}

// Images of noise with a bright channel that tells the class.
class LayersTest : public ::testing::Test {
 protected:
  LayersTest() : images_(TestTensor::Random({kBatch, 8, 8, 3}, 5)) {
    for (int64_t n = 0; n < kBatch; ++n) {
      labels_.push_back(static_cast<int32_t>(n % kClasses));
    }
    for (int64_t i = 0; i < images_.elems(); ++i) {
      if (i % 3 == labels_[i / (8 * 8 * 3)]) images_.at(i) += 0.5f;
    }
  }

  // Runs `steps` steps and appends the losses.
  Status Train(VariableStore& store, Tape& tape, int steps,
               std::vector<float>& losses) {
    ASSIGN_OR_RETURN(auto optimizer,
                     VariableOptimizer::Create(
                         {.name = "nesterov", .weight_decay = 1e-4f}, store));
    for (int step = 0; step < steps; ++step) {
      tape.Reset();
      const Var x = tape.Input("images", {-1, 8, 8, 3});
      const Var labels = tape.Input("labels", {-1}, DType::kInt32);
      RETURN_IF_ERROR(tape.Feed("images", images_.view()));
      RETURN_IF_ERROR(tape.Feed(
          "labels", ConstTensorView(labels_.data(), DType::kInt32, {kBatch})));
      const Var loss = MeanSparseSoftmaxCrossEntropy(
          Net(store.scope(Reuse::kCreateOrReuse), x, Pass::Train(3, step)),
          labels);
      ASSIGN_OR_RETURN(const float value, tape.Item(loss));
      losses.push_back(value);
      RETURN_IF_ERROR(optimizer->Minimize(tape, loss, 0.05f));
    }
    tape.Reset();
    return OkStatus();
  }

  TestTensor images_;
  std::vector<int32_t> labels_;
};

TEST_F(LayersTest, ATinyNetOverfits) {
  const auto ctx = MakeContext(2);
  HostMemory memory;
  VariableStore store(*ctx, memory, 1);
  Tape tape(*ctx, memory);
  std::vector<float> losses;
  ASSERT_OK(Train(store, tape, 60, losses));
  EXPECT_NEAR(losses.front(), std::log(3.0), 1.0);
  EXPECT_LT(losses.back(), losses.front() / 20);
  // Nothing but the variables, two of them in evaluation mode.
  EXPECT_EQ(memory.stats().active_bytes, store.AllElems() * 4);
  // Convolutions 3*3*3*6 + 3*3*6*4 + 4, norms 2 * (6 + 10), dense
  // 2*2*10*3 + 3.
  EXPECT_EQ(store.TrainableElems(), 162 + 220 + 32 + 123);
  EXPECT_NE(store.Find("norm/running_mean"), nullptr);
  EXPECT_NE(store.Find("stem/weight/velocity"), nullptr);

  // Evaluation uses the running statistics and has no dropout.
  const Var x = tape.Leaf("images", images_.view());
  const Var logits = Net(store.scope(Reuse::kReuse), x, Pass::Evaluate());
  StatusOr<ConstTensorView> value = tape.Value(logits);
  ASSERT_OK(value);
  const std::vector<double> scores = ToVector(*value);
  for (int64_t n = 0; n < kBatch; ++n) {
    const auto row = scores.begin() + n * kClasses;
    EXPECT_EQ(std::max_element(row, row + kClasses) - row, labels_[n]);
  }
}

TEST_F(LayersTest, ThreadsDoNotChangeABit) {
  HostMemory memory;
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<VariableStore>> stores;
  for (int threads : {1, 2, 3}) {
    contexts.push_back(MakeContext(threads));
    stores.push_back(
        std::make_unique<VariableStore>(*contexts.back(), memory, 1));
    Tape tape(*contexts.back(), memory);
    std::vector<float> losses;
    ASSERT_OK(Train(*stores.back(), tape, 3, losses));
    for (const auto& variable : stores.back()->variables()) {
      EXPECT_TRUE(
          BitwiseEqual(variable->value.const_view(),
                       stores[0]->Find(variable->name)->value.const_view()))
          << variable->name << ", " << threads << " threads";
    }
  }
}

TEST_F(LayersTest, RunningStatisticsAdvanceInTrainingOnly) {
  const auto ctx = MakeContext(1);
  HostMemory memory;
  VariableStore store(*ctx, memory, 1);
  Tape tape(*ctx, memory);
  const Scope norm = store.scope(Reuse::kCreateOrReuse) / "norm";
  const Var x = tape.Leaf("x", images_.view());
  ASSERT_TRUE(layers::BatchNorm(norm, x, Pass::Evaluate()).ok());
  const std::vector<double> zeros(3, 0.0);
  EXPECT_EQ(ToVector(store.Find("norm/running_mean")->value.view()), zeros);
  ASSERT_TRUE(layers::BatchNorm(norm, x, Pass::Train(1, 0)).ok());
  EXPECT_NE(ToVector(store.Find("norm/running_mean")->value.view()), zeros);
}

TEST_F(LayersTest, DropoutFollowsSeedStepAndName) {
  const auto ctx = MakeContext(1);
  HostMemory memory;
  VariableStore store(*ctx, memory, 1);
  Tape tape(*ctx, memory);
  const Var x = tape.Leaf("x", images_.view());
  const Scope a = store.scope() / "a";
  const auto value = [&](const Scope& scope, const Pass& pass) {
    return *tape.Value(layers::Dropout(scope, x, 0.5, pass));
  };
  const ConstTensorView first = value(a, Pass::Train(1, 1));
  EXPECT_TRUE(BitwiseEqual(first, value(a, Pass::Train(1, 1))));
  EXPECT_FALSE(BitwiseEqual(first, value(a, Pass::Train(1, 2))));
  EXPECT_FALSE(BitwiseEqual(first, value(a, Pass::Train(2, 1))));
  EXPECT_FALSE(
      BitwiseEqual(first, value(store.scope() / "b", Pass::Train(1, 1))));
  EXPECT_TRUE(BitwiseEqual(images_.view(), value(a, Pass::Evaluate())));
}

TEST_F(LayersTest, ErrorsNameTheScope) {
  const auto ctx = MakeContext(1);
  HostMemory memory;
  VariableStore store(*ctx, memory, 1);
  Tape tape(*ctx, memory);
  const auto error = [&](Var v) {
    EXPECT_FALSE(v.ok());
    const Status status = tape.status();
    tape.Reset();
    return status;
  };
  const auto x = [&] { return tape.Leaf("x", images_.view()); };
  const Scope net = store.scope() / "net";
  EXPECT_THAT(error(layers::Dense(net / "dense", x(), {.units = 3})),
              Fails(StatusCode::kInvalidArgument,
                    {"net/dense: Dense of 3 units: expected x (N, C)",
                     "[inputs: x (12, 8, 8, 3)]"}));
  EXPECT_THAT(error(layers::Conv2d(net / "conv", x(), {})),
              Fails(StatusCode::kInvalidArgument, {"net/conv: ", "0 filters"}));
  EXPECT_THAT(error(layers::Dropout(net / "drop", x(), 1.0, Pass::Evaluate())),
              Fails(StatusCode::kInvalidArgument, {"net/drop: ", "rate is 1"}));
  ASSERT_TRUE(layers::Conv2d(net / "conv", x(), {.filters = 2}).ok());
  EXPECT_THAT(error(layers::Conv2d(net / "conv", x(), {.filters = 2})),
              Fails(StatusCode::kAlreadyExists, {"'net/conv/weight'"}));
  // A poisoned input creates nothing.
  const int64_t before = store.AllElems();
  const Var bad = layers::Dense(net / "d1", x(), {.units = 3});
  EXPECT_FALSE(layers::Conv2d(net / "c1", bad, {.filters = 2}).ok());
  EXPECT_EQ(store.AllElems(), before);
}

}  // namespace
}  // namespace densenet
