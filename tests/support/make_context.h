// tests/support/make_context.h
//
// A CPU context of so many threads.

#ifndef DENSENET_TESTS_SUPPORT_MAKE_CONTEXT_H_
#define DENSENET_TESTS_SUPPORT_MAKE_CONTEXT_H_

#include <glog/logging.h>

#include <memory>
#include <utility>

#include "core/context.h"

namespace densenet::testing {

inline std::unique_ptr<Context> MakeContext(int threads = 2) {
  StatusOr<std::unique_ptr<Context>> ctx =
      Context::Create({.threads = threads});
  CHECK(ctx.ok()) << ctx.status();
  return std::move(*ctx);
}

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_MAKE_CONTEXT_H_
