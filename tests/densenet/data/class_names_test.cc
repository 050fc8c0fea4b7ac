#include "densenet/data/class_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;
using ::densenet::testing::TempDir;
using ::testing::ElementsAre;

TEST(ReadClassNames, TakesANameALine) {
  TempDir dir;
  StatusOr<std::vector<std::string>> names =
      ReadClassNames(dir.Write("a", "ant\nsea lion\r\n bee"));
  ASSERT_OK(names);
  EXPECT_THAT(*names, ElementsAre("ant", "sea lion", " bee"));
  names = ReadClassNames(dir.Write("b", "ant\n\n\r\n"));
  ASSERT_OK(names);
  EXPECT_THAT(*names, ElementsAre("ant"));
}

TEST(ReadClassNames, RefusesWhatWouldShiftOrMixClasses) {
  TempDir dir;
  EXPECT_THAT(ReadClassNames(dir.Write("a", "ant\n\nbee\n")),
              Fails(StatusCode::kInvalidArgument, {"line 2 has no name"}));
  EXPECT_THAT(ReadClassNames(dir.Write("b", "ant\nbee\nant\n")),
              Fails(StatusCode::kInvalidArgument, {"'ant' is there twice"}));
  EXPECT_THAT(ReadClassNames(dir.Write("c", "\n")),
              Fails(StatusCode::kInvalidArgument, {"a class a line"}));
  EXPECT_THAT(ReadClassNames(dir.File("none")),
              Fails(StatusCode::kNotFound, {"none"}));
}

}  // namespace
}  // namespace densenet
