// tests/support/reference_pool.h
//
// Pooling in float64 by its definition; row-major packed vectors.

#ifndef DENSENET_TESTS_SUPPORT_REFERENCE_POOL_H_
#define DENSENET_TESTS_SUPPORT_REFERENCE_POOL_H_

#include <cstdint>
#include <vector>

namespace densenet::testing {

struct ReferencePool {
  using Doubles = std::vector<double>;

  int64_t n, h, w, c;  // x
  int64_t window_h, window_w;
  int64_t stride_h, stride_w;
  int64_t top, left;
  int64_t p, q;  // y (n, p, q, c)
  bool include_padding = false;

  Doubles Max(const Doubles& x) const;
  // To the first of equal elements.
  Doubles MaxBackward(const Doubles& x, const Doubles& dy) const;
  Doubles Average(const Doubles& x) const;
  Doubles AverageBackward(const Doubles& dy) const;

 private:
  // Calls fn(indices into x in row-major order, index into y) per window.
  template <typename Fn>
  void ForEachWindow(const Fn& fn) const;
  double Weight(int64_t elems) const;
};

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_REFERENCE_POOL_H_
