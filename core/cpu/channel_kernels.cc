#include "core/cpu/channel_kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/channel_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "core/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace densenet::HWY_NAMESPACE {

// Of the tags used here.
constexpr size_t kMaxLanes = 16;

// Calls kernel.template Run<vectors>(tag, first channel) so that all channels
// are covered: blocks of four full vectors, full vectors, then narrower ones.
template <size_t kLanes, typename Kernel>
void CoverTail(int64_t begin, int64_t channels, const Kernel& kernel) {
  const hn::CappedTag<float, kLanes> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; begin + lanes <= channels; begin += lanes) {
    kernel.template Run<1>(d, begin);
  }
  if constexpr (kLanes > 1) {
    if (begin < channels) CoverTail<kLanes / 2>(begin, channels, kernel);
  }
}

template <typename Kernel>
void CoverChannels(int64_t channels, const Kernel& kernel) {
  constexpr int kVectors = 4;
  const hn::CappedTag<float, kMaxLanes> d;
  const int64_t block = kVectors * static_cast<int64_t>(hn::Lanes(d));
  int64_t begin = 0;
  for (; begin + block <= channels; begin += block) {
    kernel.template Run<kVectors>(d, begin);
  }
  CoverTail<kMaxLanes>(begin, channels, kernel);
}

struct ScaleShiftKernel {
  int64_t rows;
  ChannelRows<const float> x;
  const float* scale;
  const float* shift;
  ChannelRows<float> y;

  template <int kVectors, class D>
  HWY_INLINE void Run(D d, int64_t c) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    V s[kVectors];
    V t[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      s[v] = hn::LoadU(d, scale + c + v * lanes);
      t[v] = hn::LoadU(d, shift + c + v * lanes);
    }
    const float* in = x.data + c;
    float* out = y.data + c;
    for (int64_t row = 0; row < rows; ++row, in += x.stride, out += y.stride) {
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(FusedMulAdd(d, hn::LoadU(d, in + v * lanes), s[v], t[v]), d,
                   out + v * lanes);
      }
    }
  }
};

struct Sum {
  int64_t rows;
  ChannelRows<const float> x;
  float* sum;

  template <int kVectors, class D>
  HWY_INLINE void Run(D d, int64_t c) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    V total[kVectors];
    for (int v = 0; v < kVectors; ++v) total[v] = hn::Zero(d);
    const float* in = x.data + c;
    for (int64_t row = 0; row < rows; ++row, in += x.stride) {
      for (int v = 0; v < kVectors; ++v) {
        total[v] = hn::Add(total[v], hn::LoadU(d, in + v * lanes));
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(total[v], d, sum + c + v * lanes);
    }
  }
};

struct CenteredSums {
  int64_t rows;
  ChannelRows<const float> x;
  const float* center;
  float* sum;
  float* sum_of_squares;

  template <int kVectors, class D>
  HWY_INLINE void Run(D d, int64_t c) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    V middle[kVectors];
    V total[kVectors];
    V squares[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      middle[v] = hn::LoadU(d, center + c + v * lanes);
      total[v] = hn::Zero(d);
      squares[v] = hn::Zero(d);
    }
    const float* in = x.data + c;
    for (int64_t row = 0; row < rows; ++row, in += x.stride) {
      for (int v = 0; v < kVectors; ++v) {
        const V e = hn::Sub(hn::LoadU(d, in + v * lanes), middle[v]);
        total[v] = hn::Add(total[v], e);
        squares[v] = hn::MulAdd(e, e, squares[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(total[v], d, sum + c + v * lanes);
      hn::StoreU(squares[v], d, sum_of_squares + c + v * lanes);
    }
  }
};

struct GradientSums {
  int64_t rows;
  ChannelRows<const float> x;
  ChannelRows<const float> dy;
  const float* mean;
  float* sum_dy;
  float* sum_dy_x;

  template <int kVectors, class D>
  HWY_INLINE void Run(D d, int64_t c) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    V middle[kVectors];
    V total[kVectors];
    V products[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      middle[v] = hn::LoadU(d, mean + c + v * lanes);
      total[v] = hn::Zero(d);
      products[v] = hn::Zero(d);
    }
    const float* in = x.data + c;
    const float* gradient = dy.data + c;
    for (int64_t row = 0; row < rows;
         ++row, in += x.stride, gradient += dy.stride) {
      for (int v = 0; v < kVectors; ++v) {
        const V g = hn::LoadU(d, gradient + v * lanes);
        const V e = hn::Sub(hn::LoadU(d, in + v * lanes), middle[v]);
        total[v] = hn::Add(total[v], g);
        products[v] = hn::MulAdd(g, e, products[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(total[v], d, sum_dy + c + v * lanes);
      hn::StoreU(products[v], d, sum_dy_x + c + v * lanes);
    }
  }
};

struct BatchNormGradient {
  int64_t rows;
  ChannelRows<const float> x;
  ChannelRows<const float> dy;
  const float* mean;
  const float* scale;
  const float* slope;
  const float* offset;
  ChannelRows<float> dx;

  template <int kVectors, class D>
  HWY_INLINE void Run(D d, int64_t c) const {
    using V = hn::Vec<D>;
    const size_t lanes = hn::Lanes(d);
    V middle[kVectors];
    V s[kVectors];
    V b[kVectors];
    V a[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      middle[v] = hn::LoadU(d, mean + c + v * lanes);
      s[v] = hn::LoadU(d, scale + c + v * lanes);
      b[v] = hn::LoadU(d, slope + c + v * lanes);
      a[v] = hn::LoadU(d, offset + c + v * lanes);
    }
    const float* in = x.data + c;
    const float* gradient = dy.data + c;
    float* out = dx.data + c;
    for (int64_t row = 0; row < rows;
         ++row, in += x.stride, gradient += dy.stride, out += dx.stride) {
      for (int v = 0; v < kVectors; ++v) {
        const V e = hn::Sub(hn::LoadU(d, in + v * lanes), middle[v]);
        const V g = hn::LoadU(d, gradient + v * lanes);
        hn::StoreU(hn::MulAdd(b[v], e, hn::MulAdd(s[v], g, a[v])), d,
                   out + v * lanes);
      }
    }
  }
};

void ScaleShiftRowsImpl(int64_t rows, int64_t channels,
                        ChannelRows<const float> x, const float* scale,
                        const float* shift, ChannelRows<float> y) {
  CoverChannels(channels, ScaleShiftKernel{rows, x, scale, shift, y});
}

void AffineReluRowsImpl(int64_t rows, int64_t channels, const float* x,
                        int64_t ldx, const float* scale, const float* shift,
                        float* z, int64_t ldz) {
  const FloatVec zero = hn::Zero(FloatTag());
  const int64_t lanes = FloatLanes();
  constexpr int64_t kRows = 4;
  for (int64_t r = 0; r < rows; r += kRows) {
    const int64_t n = std::min(kRows, rows - r);
    for (int64_t c = 0; c < channels; c += lanes) {
      const int64_t count = std::min(lanes, channels - c);
      const FloatVec s = LoadFirst(scale + c, count);
      const FloatVec t = LoadFirst(shift + c, count);
      for (int64_t i = 0; i < n; ++i) {
        const FloatVec v = LoadFirst(x + (r + i) * ldx + c, count);
        // Not a maximum, which would turn NaN into 0: a divergence shows.
        const FloatVec y = FusedMulAdd(FloatTag(), v, s, t);
        StoreFirst(hn::IfThenZeroElse(hn::Lt(y, zero), y),
                   z + (r + i) * ldz + c, count);
      }
    }
  }
}

void SumRowsImpl(int64_t rows, int64_t channels, ChannelRows<const float> x,
                 float* sum) {
  CoverChannels(channels, Sum{rows, x, sum});
}

void CenteredSumsRowsImpl(int64_t rows, int64_t channels,
                          ChannelRows<const float> x, const float* center,
                          float* sum, float* sum_of_squares) {
  CoverChannels(channels, CenteredSums{rows, x, center, sum, sum_of_squares});
}

void GradientSumsRowsImpl(int64_t rows, int64_t channels,
                          ChannelRows<const float> x,
                          ChannelRows<const float> dy, const float* mean,
                          float* sum_dy, float* sum_dy_x) {
  CoverChannels(channels, GradientSums{rows, x, dy, mean, sum_dy, sum_dy_x});
}

void BatchNormGradientRowsImpl(int64_t rows, int64_t channels,
                               ChannelRows<const float> x,
                               ChannelRows<const float> dy, const float* mean,
                               const float* scale, const float* slope,
                               const float* offset, ChannelRows<float> dx) {
  CoverChannels(channels,
                BatchNormGradient{rows, x, dy, mean, scale, slope, offset, dx});
}

}  // namespace densenet::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace densenet {

HWY_EXPORT(ScaleShiftRowsImpl);
HWY_EXPORT(AffineReluRowsImpl);
HWY_EXPORT(SumRowsImpl);
HWY_EXPORT(CenteredSumsRowsImpl);
HWY_EXPORT(GradientSumsRowsImpl);
HWY_EXPORT(BatchNormGradientRowsImpl);

void ScaleShiftRows(int64_t rows, int64_t channels, ChannelRows<const float> x,
                    const float* scale, const float* shift,
                    ChannelRows<float> y) {
  HWY_DYNAMIC_DISPATCH(ScaleShiftRowsImpl)(rows, channels, x, scale, shift, y);
}

void AffineReluRows(int64_t rows, int64_t channels, const float* x, int64_t ldx,
                    const float* scale, const float* shift, float* z,
                    int64_t ldz) {
  HWY_DYNAMIC_DISPATCH(AffineReluRowsImpl)
  (rows, channels, x, ldx, scale, shift, z, ldz);
}

void SumRows(int64_t rows, int64_t channels, ChannelRows<const float> x,
             float* sum) {
  HWY_DYNAMIC_DISPATCH(SumRowsImpl)(rows, channels, x, sum);
}

void CenteredSumsRows(int64_t rows, int64_t channels,
                      ChannelRows<const float> x, const float* center,
                      float* sum, float* sum_of_squares) {
  HWY_DYNAMIC_DISPATCH(CenteredSumsRowsImpl)
  (rows, channels, x, center, sum, sum_of_squares);
}

void GradientSumsRows(int64_t rows, int64_t channels,
                      ChannelRows<const float> x, ChannelRows<const float> dy,
                      const float* mean, float* sum_dy, float* sum_dy_x) {
  HWY_DYNAMIC_DISPATCH(GradientSumsRowsImpl)
  (rows, channels, x, dy, mean, sum_dy, sum_dy_x);
}

void BatchNormGradientRows(int64_t rows, int64_t channels,
                           ChannelRows<const float> x,
                           ChannelRows<const float> dy, const float* mean,
                           const float* scale, const float* slope,
                           const float* offset, ChannelRows<float> dx) {
  HWY_DYNAMIC_DISPATCH(BatchNormGradientRowsImpl)
  (rows, channels, x, dy, mean, scale, slope, offset, dx);
}

}  // namespace densenet
#endif  // HWY_ONCE
