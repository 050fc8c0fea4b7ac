// tests/support/reference_conv2d.h
//
// Convolution in float64 by its definition; row-major packed vectors.

#ifndef DENSENET_TESTS_SUPPORT_REFERENCE_CONV2D_H_
#define DENSENET_TESTS_SUPPORT_REFERENCE_CONV2D_H_

#include <cstdint>
#include <vector>

namespace densenet::testing {

struct ReferenceConv2d {
  int64_t n, h, w, c;  // x
  int64_t r, s, k;     // filter (r, s, c, k)
  int64_t stride_h, stride_w;
  int64_t top, left;
  int64_t p, q;  // y (n, p, q, k)

  std::vector<double> Forward(const std::vector<double>& x,
                              const std::vector<double>& filter) const;
  std::vector<double> BackwardData(const std::vector<double>& dy,
                                   const std::vector<double>& filter) const;
  std::vector<double> BackwardFilter(const std::vector<double>& x,
                                     const std::vector<double>& dy) const;

 private:
  // Calls fn(index into x, into filter, into y) for every product.
  template <typename Fn>
  void ForEachProduct(const Fn& fn) const;
};

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_SUPPORT_REFERENCE_CONV2D_H_
