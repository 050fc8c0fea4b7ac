// tests/densenet/cli/app_fixture.h
//
// Runs the program inside the test, with its output in strings.

#ifndef DENSENET_TESTS_DENSENET_CLI_APP_FIXTURE_H_
#define DENSENET_TESTS_DENSENET_CLI_APP_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "densenet/cli/app.h"
#include "densenet/run_folder.h"
#include "tests/densenet/test_cifar.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace densenet::cli {

class AppTest : public ::testing::Test {
 protected:
  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    const Environment env{.out = out_,
                          .err = err_,
                          .terminal = false,
                          .should_stop = should_stop_};
    return RunApp(args, env);
  }
  // One line on stderr with all of `parts`, nothing but it.
  void ExpectFails(const std::vector<std::string>& args, int code,
                   const std::vector<std::string>& parts) {
    EXPECT_EQ(Run(args), code) << out_.str() << err_.str();
    const std::string error = err_.str();
    EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1) << error;
    for (const std::string& part : parts)
      EXPECT_THAT(error, ::testing::HasSubstr(part));
  }
  // `more` behind `args`, in place of what it gives again.
  static std::vector<std::string> With(std::vector<std::string> args,
                                       const std::vector<std::string>& more) {
    for (size_t i = 0; i < more.size(); ++i) {
      const auto again = std::find(args.begin(), args.end(), more[i]);
      if (again == args.end() || more[i].substr(0, 2) != "--") {
        args.push_back(more[i]);
        continue;
      }
      if (i + 1 < more.size()) *(again + 1) = more[++i];
    }
    return args;
  }
  // Arguments that train the smallest net for one epoch of 25 images.
  std::vector<std::string> Train(const std::vector<std::string>& more = {}) {
    densenet::testing::WriteCifar10(data_, /*per_batch=*/5, /*test=*/10);
    return With({"train", "--depth", "10", "--growth", "4", "--bottleneck",
                 "--dataset", "cifar10", "--data", data_.path(), "--batch", "8",
                 "--epochs", "1", "--threads", "1", "--out", dir_.File("run")},
                more);
  }
  Json ReadJson(const std::string& name) {
    StatusOr<Json> json = ReadJsonObject(dir_.File(name));
    EXPECT_OK(json);
    return json.ok() ? *json : Json();
  }
  static std::vector<std::string> Keys(const Json& json) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    return keys;
  }

  densenet::testing::TempDir dir_;
  densenet::testing::TempDir data_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::function<bool()> should_stop_;
};

}  // namespace densenet::cli

#endif  // DENSENET_TESTS_DENSENET_CLI_APP_FIXTURE_H_
