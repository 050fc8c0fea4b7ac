// tests/support/status_matchers.h
//
// EXPECT_THAT(status_or, Fails(StatusCode::kDataLoss, {"file", "name"}));
// ASSERT_OK(status_or);

#ifndef DENSENET_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define DENSENET_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/status.h"

namespace densenet::testing {

inline const Status& GetStatus(const Status& status) { return status; }
template <typename T>
const Status& GetStatus(const StatusOr<T>& result) {
  return result.status();
}

// The code, and a message that contains every one of `parts`.
MATCHER_P2(FailsWith, code, parts, "") {
  const Status status = GetStatus(arg);
  *result_listener << "status is " << status.ToString();
  if (status.code() != code) return false;
  for (const std::string& part : parts) {
    if (StdView(status.message()).find(part) == std::string_view::npos) {
      *result_listener << ", without \"" << part << '"';
      return false;
    }
  }
  return true;
}

inline auto Fails(StatusCode code, const std::vector<std::string>& parts) {
  return FailsWith(code, parts);
}

}  // namespace densenet::testing

#define ASSERT_OK(expr) \
  ASSERT_TRUE((expr).ok()) << ::densenet::testing::GetStatus(expr)
#define EXPECT_OK(expr) \
  EXPECT_TRUE((expr).ok()) << ::densenet::testing::GetStatus(expr)

#endif  // DENSENET_TESTS_SUPPORT_STATUS_MATCHERS_H_
