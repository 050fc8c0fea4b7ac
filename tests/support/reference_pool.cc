#include "tests/support/reference_pool.h"

#include <algorithm>

namespace densenet::testing {

using Doubles = std::vector<double>;

template <typename Fn>
void ReferencePool::ForEachWindow(const Fn& fn) const {
  for (int64_t iy = 0; iy < n * p * q * c; ++iy) {
    const int64_t ic = iy % c;
    const int64_t iq = iy / c % q;
    const int64_t ip = iy / (c * q) % p;
    const int64_t in = iy / (c * q * p);
    std::vector<int64_t> elements;
    for (int64_t r = 0; r < window_h; ++r) {
      for (int64_t s = 0; s < window_w; ++s) {
        const int64_t ih = ip * stride_h + r - top;
        const int64_t iw = iq * stride_w + s - left;
        if (ih < 0 || ih >= h || iw < 0 || iw >= w) continue;
        elements.push_back(((in * h + ih) * w + iw) * c + ic);
      }
    }
    fn(elements, iy);
  }
}

double ReferencePool::Weight(int64_t elems) const {
  return 1.0 /
         static_cast<double>(include_padding ? window_h * window_w : elems);
}

Doubles ReferencePool::Max(const Doubles& x) const {
  Doubles y(n * p * q * c);
  ForEachWindow([&](const std::vector<int64_t>& elements, int64_t iy) {
    y[iy] = x[elements[0]];
    for (int64_t i : elements) y[iy] = std::max(y[iy], x[i]);
  });
  return y;
}

Doubles ReferencePool::MaxBackward(const Doubles& x, const Doubles& dy) const {
  Doubles dx(n * h * w * c, 0.0);
  ForEachWindow([&](const std::vector<int64_t>& elements, int64_t iy) {
    int64_t best = elements[0];
    for (int64_t i : elements) {
      if (x[i] > x[best]) best = i;
    }
    dx[best] += dy[iy];
  });
  return dx;
}

Doubles ReferencePool::Average(const Doubles& x) const {
  Doubles y(n * p * q * c, 0.0);
  ForEachWindow([&](const std::vector<int64_t>& elements, int64_t iy) {
    for (int64_t i : elements) {
      y[iy] += x[i] * Weight(static_cast<int64_t>(elements.size()));
    }
  });
  return y;
}

Doubles ReferencePool::AverageBackward(const Doubles& dy) const {
  Doubles dx(n * h * w * c, 0.0);
  ForEachWindow([&](const std::vector<int64_t>& elements, int64_t iy) {
    for (int64_t i : elements) {
      dx[i] += dy[iy] * Weight(static_cast<int64_t>(elements.size()));
    }
  });
  return dx;
}

}  // namespace densenet::testing
