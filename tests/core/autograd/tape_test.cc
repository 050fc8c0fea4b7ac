#include "core/autograd/tape.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/autograd/losses.h"
#include "core/autograd/math.h"
#include "core/autograd/nn.h"
#include "core/autograd/op_call.h"
#include "core/autograd/shaping.h"
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

using Vector = std::vector<double>;

class TapeTest : public ::testing::Test {
 protected:
  std::unique_ptr<Context> ctx_ = MakeContext(2);
  HostMemory memory_;
  Tape tape_{*ctx_, memory_};
};

TEST_F(TapeTest, GradientsSumOverYsAndRepeat) {
  const TestTensor value = TestTensor::FromVector({2}, {3, 5});
  const Var x = tape_.Leaf("x", value.view());
  const Var square = Multiply(x, x);
  const Var doubled = Scale(x, 2);
  for (int repeat = 0; repeat < 2; ++repeat) {
    StatusOr<std::vector<Tensor>> g = tape_.Gradients({square, doubled}, {x});
    ASSERT_OK(g);
    EXPECT_EQ(ToVector((*g)[0].view()), Vector({8, 12}));
  }
  // A y given twice counts twice, an x given twice is answered twice, and an
  // intermediate value may be an x.
  StatusOr<std::vector<Tensor>> g =
      tape_.Gradients({square, square}, {x, square, x});
  ASSERT_OK(g);
  EXPECT_EQ(ToVector((*g)[0].view()), Vector({12, 20}));
  EXPECT_EQ(ToVector((*g)[1].view()), Vector({2, 2}));
  EXPECT_EQ(ToVector((*g)[2].view()), Vector({12, 20}));
}

TEST_F(TapeTest, AnXThatIsAYHasGradientOne) {
  const TestTensor value = TestTensor::FromVector({2}, {3, 5});
  const Var x = tape_.Leaf("x", value.view());
  StatusOr<std::vector<Tensor>> g = tape_.Gradients({x}, {x});
  ASSERT_OK(g);
  EXPECT_EQ(ToVector((*g)[0].view()), Vector({1, 1}));
}

TEST_F(TapeTest, UnreachableXIsNamed) {
  const TestTensor value({2});
  const Var x = tape_.Leaf("block1/conv/weight", value.view());
  const Var other = tape_.Leaf("other", value.view());
  const Var y = Relu(other);
  EXPECT_THAT(tape_.Gradients({y}, {other, x}),
              Fails(StatusCode::kNotFound,
                    {"no y depends on 'block1/conv/weight' float32 (2)"}));
  // Through StopGradient nothing depends either.
  EXPECT_THAT(tape_.Gradients({Add(StopGradient(x), other)}, {x}),
              Fails(StatusCode::kNotFound, {"block1/conv/weight"}));
  // These errors are of the question, not of the tape.
  EXPECT_OK(tape_.status());
  EXPECT_OK(tape_.Gradients({y}, {other}));
}

TEST_F(TapeTest, ConstantInputsAreNamed) {
  const TestTensor value({2});
  const Var x = tape_.Leaf("x", value.view());
  const Var targets = Scale(x, 2);
  const Var loss = SigmoidCrossEntropy(Relu(x), targets);
  EXPECT_THAT(tape_.Gradients({loss}, {x}),
              Fails(StatusCode::kUnimplemented,
                    {"SigmoidCrossEntropy:3 has no gradient for its input 1 "
                     "('Scale:1')",
                     "StopGradient"}));
  EXPECT_OK(tape_.Gradients(
      {SigmoidCrossEntropy(Relu(x), StopGradient(Scale(x, 2)))}, {x}));
}

TEST_F(TapeTest, InputThatWasNotFedIsNamed) {
  const Var x = tape_.Input("images", {-1, 2});
  const Var y = Relu(Scale(x, 2));
  EXPECT_FALSE(y.ok());
  EXPECT_THAT(tape_.Value(y),
              Fails(StatusCode::kFailedPrecondition,
                    {"Scale: input 'images' was not fed",
                     "tape.Feed(\"images\", view of float32 (-1, 2))"}));
  EXPECT_THAT(tape_.Gradients({y}, {x}),
              Fails(StatusCode::kFailedPrecondition, {"images"}));
}

TEST_F(TapeTest, FedInputsAreRead) {
  const Var x = tape_.Input("images", {-1, 2});
  EXPECT_EQ(x.shape(), Shape({-1, 2}));
  const TestTensor value = TestTensor::FromVector({3, 2}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK(tape_.Feed("images", value.view()));
  EXPECT_EQ(x.shape(), Shape({3, 2}));
  const Var y = Scale(x, 2);
  EXPECT_EQ(ToVector(*tape_.Value(y)), Vector({2, 4, 6, 8, 10, 12}));
  EXPECT_OK(tape_.Gradients({y}, {x}));
  EXPECT_THAT(tape_.Feed("images", value.view()),
              Fails(StatusCode::kFailedPrecondition,
                    {"'images' has been used already"}));
}

TEST_F(TapeTest, FeedSaysWhatWasDeclared) {
  tape_.Input("images", {-1, 2});
  tape_.Input("labels", {-1}, DType::kInt32);
  const TestTensor wrong({2, 3});
  EXPECT_THAT(tape_.Feed("image", wrong.view()),
              Fails(StatusCode::kNotFound,
                    {"no input 'image'; declared: images, labels"}));
  EXPECT_THAT(tape_.Feed("images", wrong.view()),
              Fails(StatusCode::kInvalidArgument,
                    {"'images' was declared as float32 (-1, 2), fed with "
                     "float32 (2, 3)"}));
  EXPECT_THAT(tape_.Feed("labels", wrong.view()),
              Fails(StatusCode::kInvalidArgument, {"int32 (-1)"}));
  EXPECT_FALSE(tape_.Input("images", {1}).ok());
  EXPECT_THAT(tape_.status(), Fails(StatusCode::kAlreadyExists,
                                    {"'images' is declared already"}));
}

TEST_F(TapeTest, FirstErrorIsKeptAndNamesOperationAndInputs) {
  const TestTensor a({2, 3}), b({4, 2});
  const Var x = tape_.Leaf("x", a.view());
  const Var w = tape_.Leaf("w", b.view());
  const Var bad = Add(Relu(x), w);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.shape(), Shape());
  const Var worse = MatMul(bad, Reshape(w, {-1, -1}));
  EXPECT_FALSE(ReduceMean(Concat({worse, x}, 0)).ok());
  const auto expected = Fails(StatusCode::kInvalidArgument,
                              {"Add: a (2, 3) and b (4, 2) do not broadcast",
                               "[inputs: Relu:2 (2, 3), w (4, 2)]"});
  EXPECT_THAT(tape_.Value(worse), expected);
  EXPECT_THAT(tape_.Item(bad), expected);
  EXPECT_THAT(tape_.Gradients({worse}, {x}), expected);
  EXPECT_THAT(tape_.status(), expected);
  // Values from before the error can still be read.
  EXPECT_OK(tape_.Value(x));
  tape_.Reset();
  EXPECT_OK(tape_.status());
}

TEST_F(TapeTest, VarsOfElsewhereAreRefused) {
  const TestTensor value({2});
  Tape other(*ctx_, memory_);
  const Var x = tape_.Leaf("x", value.view());
  const Var foreign = other.Leaf("x", value.view());
  EXPECT_THAT(tape_.Value(Var()),
              Fails(StatusCode::kInvalidArgument, {"an empty Var"}));
  EXPECT_THAT(tape_.Value(foreign),
              Fails(StatusCode::kInvalidArgument, {"another tape"}));
  EXPECT_FALSE(Add(x, foreign).ok());
  EXPECT_THAT(tape_.status(),
              Fails(StatusCode::kInvalidArgument, {"Add: a Var of another"}));
  tape_.Reset();
  EXPECT_FALSE(x.ok());
  EXPECT_FALSE(Relu(x).ok());
  EXPECT_THAT(tape_.status(), Fails(StatusCode::kFailedPrecondition,
                                    {"Relu: a Var from before the last "
                                     "Reset()"}));
  EXPECT_FALSE(Relu(Var()).ok());
}

TEST_F(TapeTest, ALeafIsOneVarPerName) {
  const TestTensor value = TestTensor::FromVector({2}, {3, 5});
  const TestTensor another({2});
  const Var x = tape_.Leaf("x", value.view());
  StatusOr<std::vector<Tensor>> g =
      tape_.Gradients({Add(x, Scale(tape_.Leaf("x", value.view()), 3))}, {x});
  ASSERT_OK(g);
  EXPECT_EQ(ToVector((*g)[0].view()), Vector({4, 4}));
  EXPECT_FALSE(tape_.Leaf("x", another.view()).ok());
  EXPECT_THAT(tape_.status(), Fails(StatusCode::kAlreadyExists, {"'x'"}));
}

TEST_F(TapeTest, OnlyFloatsHaveGradients) {
  const int32_t numbers[2] = {0, 1};
  const Var labels =
      tape_.Leaf("labels", ConstTensorView(numbers, DType::kInt32, {2}));
  EXPECT_THAT(
      tape_.Gradients({labels}, {labels}),
      Fails(StatusCode::kInvalidArgument, {"'labels' is int32, only float32"}));
}

TEST_F(TapeTest, MemoryReturnsOnReset) {
  const TestTensor value = TestTensor::Random({64, 32}, 1);
  for (int step = 0; step < 3; ++step) {
    {
      const Var x = tape_.Leaf("x", value.view());
      const Var y = ReduceMean(Multiply(Relu(Scale(x, 2)), x));
      StatusOr<std::vector<Tensor>> g = tape_.Gradients({y}, {x});
      ASSERT_OK(g);
      EXPECT_GT(memory_.stats().active_bytes, 0);
      tape_.Reset();
      // The gradient belongs to the caller.
      EXPECT_EQ(memory_.stats().active_bytes, value.elems() * 4);
    }
    EXPECT_EQ(memory_.stats().active_bytes, 0);
  }
}

TEST_F(TapeTest, GradientsAreFreedAsSoonAsConsumed) {
  constexpr int64_t kBytes = 1024 * 4;
  const TestTensor value = TestTensor::Random({1024}, 1);
  const Var x = tape_.Leaf("x", value.view());
  Var y = x;
  for (int i = 0; i < 50; ++i) y = Scale(y, 1.01f);
  const int64_t before = memory_.stats().active_bytes;
  EXPECT_EQ(before, 50 * kBytes);
  memory_.ResetPeak();
  ASSERT_OK(tape_.Gradients({y}, {x}));
  // The gradient for the result and that for the input of one operation.
  EXPECT_EQ(memory_.stats().peak_bytes, before + 2 * kBytes);
  EXPECT_EQ(memory_.stats().active_bytes, before);
}

TEST_F(TapeTest, OutOfMemoryIsAnErrorOfTheOperation) {
  HostMemory small(10000);
  Tape tape(*ctx_, small);
  const TestTensor value({1000});
  Var y = tape.Leaf("x", value.view());
  for (int i = 0; i < 4; ++i) y = Relu(y);
  EXPECT_THAT(
      tape.Value(y),
      Fails(StatusCode::kResourceExhausted,
            {"Relu: ", "requested 4000 bytes, active 8000", "limit 10000"}));
  tape.Reset();
  EXPECT_EQ(small.stats().active_bytes, 0);
}

TEST_F(TapeTest, UsersWriteOperations) {
  const auto cube = [](Var x) {
    return ApplyOp(
        "Cube", {x},
        [](ForwardCall& call) -> Status {
          ASSIGN_OR_RETURN(TensorView y, call.NewOutput(call.x(0).shape()));
          ASSIGN_OR_RETURN(TensorView square, call.Save(y.shape()));
          for (int64_t i = 0; i < y.elems(); ++i) {
            const float v = call.x(0).data<float>()[i];
            square.data<float>()[i] = v * v;
            y.data<float>()[i] = v * v * v;
          }
          return OkStatus();
        },
        [](BackwardCall& call) -> Status {
          ASSIGN_OR_RETURN(TensorView dx, call.dx(0));
          for (int64_t i = 0; i < dx.elems(); ++i) {
            dx.data<float>()[i] =
                3 * call.saved(0).data<float>()[i] * call.dy().data<float>()[i];
          }
          return OkStatus();
        });
  };
  const TestTensor value = TestTensor::FromVector({2}, {2, -1});
  const Var x = tape_.Leaf("x", value.view());
  const Var y = cube(x);
  EXPECT_EQ(ToVector(*tape_.Value(y)), Vector({8, -1}));
  StatusOr<std::vector<Tensor>> g = tape_.Gradients({y}, {x});
  ASSERT_OK(g);
  EXPECT_EQ(ToVector((*g)[0].view()), Vector({12, 3}));
}

}  // namespace
}  // namespace densenet
