#include "tests/support/reference_conv2d.h"

namespace densenet::testing {

template <typename Fn>
void ReferenceConv2d::ForEachProduct(const Fn& fn) const {
  for (int64_t in = 0; in < n; ++in) {
    for (int64_t ip = 0; ip < p; ++ip) {
      for (int64_t iq = 0; iq < q; ++iq) {
        for (int64_t ir = 0; ir < r; ++ir) {
          for (int64_t is = 0; is < s; ++is) {
            const int64_t ih = ip * stride_h + ir - top;
            const int64_t iw = iq * stride_w + is - left;
            if (ih < 0 || ih >= h || iw < 0 || iw >= w) continue;
            for (int64_t ic = 0; ic < c; ++ic) {
              for (int64_t ik = 0; ik < k; ++ik) {
                fn(((in * h + ih) * w + iw) * c + ic,
                   ((ir * s + is) * c + ic) * k + ik,
                   ((in * p + ip) * q + iq) * k + ik);
              }
            }
          }
        }
      }
    }
  }
}

std::vector<double> ReferenceConv2d::Forward(
    const std::vector<double>& x, const std::vector<double>& filter) const {
  std::vector<double> y(n * p * q * k, 0.0);
  ForEachProduct(
      [&](int64_t ix, int64_t iw, int64_t iy) { y[iy] += x[ix] * filter[iw]; });
  return y;
}

std::vector<double> ReferenceConv2d::BackwardData(
    const std::vector<double>& dy, const std::vector<double>& filter) const {
  std::vector<double> dx(n * h * w * c, 0.0);
  ForEachProduct([&](int64_t ix, int64_t iw, int64_t iy) {
    dx[ix] += dy[iy] * filter[iw];
  });
  return dx;
}

std::vector<double> ReferenceConv2d::BackwardFilter(
    const std::vector<double>& x, const std::vector<double>& dy) const {
  std::vector<double> dw(r * s * c * k, 0.0);
  ForEachProduct(
      [&](int64_t ix, int64_t iw, int64_t iy) { dw[iw] += x[ix] * dy[iy]; });
  return dw;
}

}  // namespace densenet::testing
