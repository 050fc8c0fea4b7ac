// tests/support/pool_cases.h
//
// The shapes and windows that every pooling is tested with.

#ifndef DENSENET_TESTS_SUPPORT_POOL_CASES_H_
#define DENSENET_TESTS_SUPPORT_POOL_CASES_H_

#include <string>
#include <vector>

#include "core/ops/window.h"
#include "core/shape.h"
#include "tests/support/reference_pool.h"

namespace densenet::testing {

struct PoolCase {
  std::string name;
  Shape x;
  PoolParams params;

  int64_t window() const { return params.window_h * params.window_w; }
};

inline std::vector<PoolCase> PoolCases() {
  const Padding same = Padding::Same();
  const Padding valid = Padding::Valid();
  return {
      {"Scalar", {1, 1, 1, 1}, {1, 1, {1, 1}, valid}},
      {"Transition", {3, 8, 8, 24}, {2, 2, {2, 2}, valid}},
      {"OddTransition", {2, 7, 5, 13}, {2, 2, {2, 2}, valid}},
      {"OverlapSame", {2, 9, 8, 70}, {3, 3, {2, 2}, same}},
      {"StrideOne", {2, 5, 6, 3}, {3, 2, {1, 1}, same}},
      {"Explicit", {5, 6, 7, 5}, {3, 4, {2, 3}, Padding::Explicit(1, 2, 3, 0)}},
      {"StrideBeyondWindow", {1, 9, 9, 2}, {2, 1, {4, 3}, valid}},
      {"Whole", {2, 4, 3, 130}, {4, 3, {1, 1}, valid}},
  };
}

inline ReferencePool ReferenceOf(const PoolCase& pool, bool include_padding) {
  const WindowGeometry g =
      *ResolvePool("test", pool.x[1], pool.x[2], pool.params);
  return {pool.x[0],
          pool.x[1],
          pool.x[2],
          pool.x[3],
          pool.params.window_h,
          pool.params.window_w,
          pool.params.stride.h,
          pool.params.stride.w,
          g.top,
          g.left,
          g.out_h,
          g.out_w,
          include_padding};
}

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_POOL_CASES_H_
