#include "core/status.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

StatusOr<int> Half(int x) {
  if (x % 2 != 0) return InvalidArgument("odd");
  return x / 2;
}

StatusOr<std::unique_ptr<int>> Boxed(int x) {
  ASSIGN_OR_RETURN(const int half, Half(x));
  return std::make_unique<int>(half);
}

Status Sum(int a, int b, int* sum) {
  ASSIGN_OR_RETURN(std::unique_ptr<int> x, Boxed(a));  // moves, does not copy
  ASSIGN_OR_RETURN(auto y, Boxed(b));
  *sum = *x + *y;
  ASSIGN_OR_RETURN(*sum, Half(*sum));
  return OkStatus();
}

// Counts how often the expression is evaluated; an else must bind outside.
Status Pass(const Status& status, int* evaluations) {
  if (evaluations != nullptr)
    RETURN_IF_ERROR((++*evaluations, status));
  else
    return Internal("the macro took the else");
  return OkStatus();
}

TEST(StatusTest, AssignOrReturn) {
  int sum = 0;
  EXPECT_OK(Sum(4, 8, &sum));
  EXPECT_EQ(sum, 3);
  sum = 77;
  EXPECT_THAT(Sum(4, 3, &sum), Fails(StatusCode::kInvalidArgument, {"odd"}));
  EXPECT_EQ(sum, 77);
}

TEST(StatusTest, ReturnIfErrorEvaluatesOnce) {
  int evaluations = 0;
  EXPECT_OK(Pass(OkStatus(), &evaluations));
  EXPECT_THAT(Pass(NotFound("gone"), &evaluations),
              Fails(StatusCode::kNotFound, {"gone"}));
  EXPECT_EQ(evaluations, 2);
}

TEST(StatusTest, AnnotateKeepsTheCode) {
  EXPECT_OK(Annotate(OkStatus(), "anything"));
  const Status status = Annotate(DataLoss("bad sum"), "model.ckpt");
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(StdView(status.message()), "model.ckpt: bad sum");
}

TEST(StatusTest, ViewsConvert) {
  const std::string text = std::string("a\0b", 3);
  EXPECT_EQ(StdView(AbslView(text)), text);
}

}  // namespace
}  // namespace densenet
