// tests/support/test_workspace.h
//
// Guarded scratch for the tests of operations.

#ifndef DENSENET_TESTS_SUPPORT_TEST_WORKSPACE_H_
#define DENSENET_TESTS_SUPPORT_TEST_WORKSPACE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace densenet::testing {

// Scratch of exactly `bytes` aligned bytes, filled with NaN, so that a read
// before a write shows; Intact() says whether the guard after it still is.
class TestWorkspace {
 public:
  explicit TestWorkspace(int64_t bytes);

  absl::Span<char> span();
  bool Intact() const;

 private:
  int64_t bytes_;
  std::vector<char> storage_;
  int64_t offset_;
};

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_TEST_WORKSPACE_H_
