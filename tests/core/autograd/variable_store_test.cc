#include "core/autograd/variable_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/autograd/math.h"
#include "memory/host_memory.h"
#include "tests/support/compare.h"
#include "tests/support/make_context.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::BitwiseEqual;
using ::densenet::testing::Fails;
using ::densenet::testing::MakeContext;
using ::densenet::testing::ToVector;

class VariableStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<Context> ctx_ = MakeContext(2);
  HostMemory memory_;
  VariableStore store_{*ctx_, memory_, 7};
};

TEST_F(VariableStoreTest, CreatesUnderScopesAndReuses) {
  const Scope conv = store_.scope() / "block1" / "conv";
  StatusOr<Variable*> w =
      conv.Get("weight", {3, 3, 2, 4}, Initializer::HeFanOut());
  ASSERT_OK(w);
  EXPECT_EQ((*w)->name, "block1/conv/weight");
  EXPECT_EQ(store_.Find("block1/conv/weight"), *w);
  for (Reuse reuse : {Reuse::kReuse, Reuse::kCreateOrReuse}) {
    StatusOr<Variable*> again =
        conv.With(reuse).Get("weight", {3, 3, 2, 4}, Initializer::Constant(0));
    ASSERT_OK(again);
    EXPECT_EQ(*again, *w);
  }
  EXPECT_OK(conv.With(Reuse::kCreateOrReuse)
                .Get("bias", {4}, Initializer::Constant(0)));
}

TEST_F(VariableStoreTest, ErrorsNameTheVariableAndSayWhatToDo) {
  const Scope conv = store_.scope() / "conv";
  const Initializer zeros = Initializer::Constant(0);
  EXPECT_THAT(conv.With(Reuse::kReuse).Get("weight", {2}, zeros),
              Fails(StatusCode::kNotFound,
                    {"'conv/weight' does not exist", "create it first"}));
  ASSERT_OK(conv.Get("weight", {2}, zeros));
  EXPECT_THAT(conv.Get("weight", {2}, zeros),
              Fails(StatusCode::kAlreadyExists,
                    {"'conv/weight' (2) exists already", "Reuse::kReuse"}));
  EXPECT_THAT(conv.With(Reuse::kReuse).Get("weight", {3}, zeros),
              Fails(StatusCode::kInvalidArgument,
                    {"'conv/weight' exists with shape (2), asked for with (3)",
                     "another scope"}));
  EXPECT_THAT(conv.With(Reuse::kReuse).Get("weight", {2}, zeros, false),
              Fails(StatusCode::kInvalidArgument,
                    {"'conv/weight' is trainable, asked for as not"}));
  EXPECT_THAT(conv.Get("other", {2}, Initializer::Scaled("none", 1)),
              Fails(StatusCode::kInvalidArgument,
                    {"conv/other: no source variable 'none'"}));
  // What failed does not exist.
  EXPECT_EQ(store_.Find("conv/other"), nullptr);
}

TEST_F(VariableStoreTest, ListsAndCounts) {
  const Scope net = store_.scope();
  ASSERT_OK((net / "b").Get("weight", {2, 3}, Initializer::Normal(0, 1)));
  ASSERT_OK((net / "a").Get("running_mean", {5}, Initializer::Constant(0),
                            /*trainable=*/false));
  ASSERT_OK((net / "a").Get("weight", {4}, Initializer::Constant(1)));
  std::vector<std::string> names;
  for (const auto& variable : store_.variables()) {
    names.push_back(variable->name);
  }
  EXPECT_EQ(names, std::vector<std::string>(
                       {"b/weight", "a/running_mean", "a/weight"}));
  EXPECT_EQ(store_.TrainableElems(), 10);
  EXPECT_EQ(store_.AllElems(), 15);
  EXPECT_EQ(memory_.stats().active_bytes, 15 * 4);
}

TEST_F(VariableStoreTest, FirstValuesDoNotDependOnTheOrderOfCreation) {
  VariableStore other(*ctx_, memory_, 7);
  const Initializer normal = Initializer::Normal(0, 1);
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_OK(store_.scope().Get(name, {100}, normal));
  }
  for (const char* name : {"c", "a"}) {
    ASSERT_OK(other.scope().Get(name, {100}, normal));
    EXPECT_TRUE(BitwiseEqual(store_.Find(name)->value.const_view(),
                             other.Find(name)->value.const_view()));
  }
}

TEST_F(VariableStoreTest, StartsFromAnotherVariable) {
  ASSERT_OK(store_.scope().Get("a", {2}, Initializer::Constant(3)));
  StatusOr<Variable*> b =
      store_.scope().Get("b", {2}, Initializer::Scaled("a", -0.5));
  ASSERT_OK(b);
  EXPECT_EQ(ToVector((*b)->value.view()), std::vector<double>({-1.5, -1.5}));
}

TEST_F(VariableStoreTest, GradientsComeByVariable) {
  Tape tape(*ctx_, memory_);
  const Scope net = store_.scope();
  Variable* a = *net.Get("a", {2}, Initializer::Constant(3));
  Variable* unused = *net.Get("unused", {2}, Initializer::Constant(1));
  Variable* fixed = *net.Get("fixed", {2}, Initializer::Constant(2), false);
  Variable* b = *net.Get("b", {2}, Initializer::Constant(5));
  const Var constant = tape.Constant(1);
  EXPECT_THAT(store_.Gradients(tape, {constant}),
              Fails(StatusCode::kFailedPrecondition,
                    {"no trainable variable of this store is on the tape"}));
  const Var loss =
      ReduceSum(Multiply(Multiply(b->On(tape), a->On(tape)), fixed->On(tape)));
  StatusOr<std::vector<VariableGradient>> g = store_.Gradients(tape, {loss});
  ASSERT_OK(g);
  ASSERT_EQ(g->size(), 2u);
  EXPECT_EQ((*g)[0].variable, a);
  EXPECT_EQ(ToVector((*g)[0].gradient.view()), std::vector<double>({10, 10}));
  EXPECT_EQ((*g)[1].variable, b);
  EXPECT_EQ(ToVector((*g)[1].gradient.view()), std::vector<double>({6, 6}));
  // On the tape, and without influence: that is worth an error.
  Scale(unused->On(tape), 2);
  EXPECT_THAT(store_.Gradients(tape, {loss}),
              Fails(StatusCode::kNotFound, {"no y depends on 'unused'"}));
}

}  // namespace
}  // namespace densenet
