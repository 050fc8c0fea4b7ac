#include "densenet/json_field.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

TEST(ReadField, TakesExactlyItsType) {
  const Json json = Json::parse(
      R"({"b": true, "i": -3, "u": 4294967295, "big": 18446744073709551615,
          "d": 1.5, "s": "text", "is": [1, 2], "ds": [1, 0.5], "ss": ["x"]})");
  bool b = false;
  int64_t i = 0;
  uint32_t u = 0;
  double d = 0;
  std::string s;
  std::vector<int64_t> is;
  std::vector<double> ds;
  std::vector<std::string> ss;
  EXPECT_OK(ReadField(json, "b", &b));
  EXPECT_OK(ReadField(json, "i", &i));
  EXPECT_OK(ReadField(json, "u", &u));
  EXPECT_OK(ReadField(json, "d", &d));
  EXPECT_OK(ReadField(json, "s", &s));
  EXPECT_OK(ReadField(json, "is", &is));
  EXPECT_OK(ReadField(json, "ds", &ds));
  EXPECT_OK(ReadField(json, "ss", &ss));
  EXPECT_TRUE(b);
  EXPECT_EQ(i, -3);
  EXPECT_EQ(u, 4294967295u);
  EXPECT_EQ(d, 1.5);
  EXPECT_EQ(s, "text");
  EXPECT_EQ(is, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(ds, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(ss, std::vector<std::string>{"x"});
  EXPECT_OK(ReadField(json, "i", &d));
  EXPECT_EQ(d, -3);
  EXPECT_THAT(ReadField(json, "d", &i),
              Fails(StatusCode::kInvalidArgument,
                    {"'d': expected a whole number, found 1.5"}));
  EXPECT_THAT(ReadField(json, "big", &i),
              Fails(StatusCode::kInvalidArgument, {"'big'"}));
  EXPECT_THAT(ReadField(json, "i", &u),
              Fails(StatusCode::kInvalidArgument, {"4294967295", "-3"}));
  EXPECT_THAT(ReadField(json, "s", &d),
              Fails(StatusCode::kInvalidArgument,
                    {"'s': expected a number, found \"text\""}));
  EXPECT_THAT(ReadField(json, "ds", &is),
              Fails(StatusCode::kInvalidArgument, {"a list of whole numbers"}));
  EXPECT_THAT(ReadField(json, "none", &s),
              Fails(StatusCode::kInvalidArgument, {"'none' is missing"}));
}

TEST(ReadField, LongValuesAreCut) {
  const Json json = {{"s", std::string(1000, 'x')}};
  bool b = false;
  const Status status = ReadField(json, "s", &b);
  EXPECT_THAT(status, Fails(StatusCode::kInvalidArgument, {"xxx..."}));
  EXPECT_LT(status.message().size(), 200u);
}

}  // namespace
}  // namespace densenet
