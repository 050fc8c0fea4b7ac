#include "densenet/kernels/row_kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/ops/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "densenet/kernels/row_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "core/cpu/simd-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace densenet::HWY_NAMESPACE {

// Calls fn(std::integral_constant<int, V>, c, lanes of each vector) over the
// channels, V vectors at a time; only a lone last vector may be partial.
template <typename Fn>
HWY_INLINE void ForEachChannelGroup(int64_t channels, Fn fn) {
  constexpr int kGroup = 4;
  const int64_t lanes = FloatLanes();
  int64_t c = 0;
  for (; c + kGroup * lanes <= channels; c += kGroup * lanes) {
    fn(std::integral_constant<int, kGroup>(), c, lanes);
  }
  for (; c < channels; c += lanes) {
    fn(std::integral_constant<int, 1>(), c, std::min(lanes, channels - c));
  }
}

void MomentsRowsImpl(int64_t rows, int64_t channels, const float* x,
                     int64_t ldx, float* mean, float* m2) {
  const FloatTag d;
  const int64_t lanes = FloatLanes();
  const FloatVec inverse = hn::Set(d, 1.0f / static_cast<float>(rows));
  ForEachChannelGroup(channels, [&](auto group, int64_t c, int64_t n) {
    constexpr int kVecs = decltype(group)::value;
    FloatVec sum[kVecs], square[kVecs], center[kVecs];
    for (int v = 0; v < kVecs; ++v) sum[v] = square[v] = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r) {
      for (int v = 0; v < kVecs; ++v) {
        sum[v] = hn::Add(sum[v], LoadFirst(x + r * ldx + c + v * lanes, n));
      }
    }
    for (int v = 0; v < kVecs; ++v) center[v] = hn::Mul(sum[v], inverse);
    for (int64_t r = 0; r < rows; ++r) {
      for (int v = 0; v < kVecs; ++v) {
        const FloatVec e =
            hn::Sub(LoadFirst(x + r * ldx + c + v * lanes, n), center[v]);
        square[v] = hn::MulAdd(e, e, square[v]);
      }
    }
    for (int v = 0; v < kVecs; ++v) {
      StoreFirst(center[v], mean + c + v * lanes, n);
      StoreFirst(square[v], m2 + c + v * lanes, n);
    }
  });
}

// What happens with a masked gradient dy, besides being summed.
struct StoreGradient {
  float* dy;
  int64_t ld;
  HWY_INLINE void operator()(int64_t r, int64_t c, FloatVec value, FloatVec,
                             int64_t n) const {
    StoreFirst(value, dy + r * ld + c, n);
  }
};
struct StoreScaled {
  float* g;
  int64_t ld;
  HWY_INLINE void operator()(int64_t r, int64_t c, FloatVec value,
                             FloatVec scale, int64_t n) const {
    StoreFirst(hn::Mul(scale, value), g + r * ld + c, n);
  }
};
struct AccumulateScaled {
  float* g;
  int64_t ld;
  HWY_INLINE void operator()(int64_t r, int64_t c, FloatVec value,
                             FloatVec scale, int64_t n) const {
    float* p = g + r * ld + c;
    StoreFirst(hn::MulAdd(scale, value, LoadFirst(p, n)), p, n);
  }
};

template <typename Sink>
HWY_INLINE void MaskedRows(int64_t rows, int64_t channels, const float* x,
                           int64_t ldx, const float* scale, const float* shift,
                           const float* mean, const float* dz, int64_t lddz,
                           float* sum_dy, float* sum_dyx, const Sink& sink) {
  const FloatTag d;
  const FloatVec zero = hn::Zero(d);
  const int64_t lanes = FloatLanes();
  ForEachChannelGroup(channels, [&](auto group, int64_t c, int64_t n) {
    constexpr int kVecs = decltype(group)::value;
    FloatVec s[kVecs], t[kVecs], m[kVecs], sum[kVecs], sum_x[kVecs];
    for (int v = 0; v < kVecs; ++v) {
      s[v] = LoadFirst(scale + c + v * lanes, n);
      t[v] = LoadFirst(shift + c + v * lanes, n);
      m[v] = LoadFirst(mean + c + v * lanes, n);
      sum[v] = sum_x[v] = zero;
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int v = 0; v < kVecs; ++v) {
        const int64_t cv = c + v * lanes;
        const FloatVec xv = LoadFirst(x + r * ldx + cv, n);
        const FloatVec dzv = LoadFirst(dz + r * lddz + cv, n);
        const FloatVec dyv = hn::IfThenElseZero(
            hn::Gt(FusedMulAdd(d, xv, s[v], t[v]), zero), dzv);
        sum[v] = hn::Add(sum[v], dyv);
        sum_x[v] = hn::MulAdd(dyv, hn::Sub(xv, m[v]), sum_x[v]);
        sink(r, cv, dyv, s[v], n);
      }
    }
    for (int v = 0; v < kVecs; ++v) {
      StoreFirst(sum[v], sum_dy + c + v * lanes, n);
      StoreFirst(sum_x[v], sum_dyx + c + v * lanes, n);
    }
  });
}

void MaskedSumsRowsImpl(int64_t rows, int64_t channels, const float* x,
                        int64_t ldx, const float* scale, const float* shift,
                        const float* mean, const float* dz, int64_t lddz,
                        float* dy, int64_t lddy, float* sum_dy,
                        float* sum_dyx) {
  MaskedRows(rows, channels, x, ldx, scale, shift, mean, dz, lddz, sum_dy,
             sum_dyx, StoreGradient{dy, lddy});
}

void MaskedAccumulateRowsImpl(int64_t rows, int64_t channels, const float* x,
                              int64_t ldx, const float* scale,
                              const float* shift, const float* mean,
                              const float* dz, int64_t lddz, float* g,
                              int64_t ldg, float* sum_dy, float* sum_dyx) {
  MaskedRows(rows, channels, x, ldx, scale, shift, mean, dz, lddz, sum_dy,
             sum_dyx, AccumulateScaled{g, ldg});
}

void MaskedScaleRowsImpl(int64_t rows, int64_t channels, const float* x,
                         int64_t ldx, const float* scale, const float* shift,
                         const float* mean, const float* dz, int64_t lddz,
                         float* g, int64_t ldg, float* sum_dy, float* sum_dyx) {
  MaskedRows(rows, channels, x, ldx, scale, shift, mean, dz, lddz, sum_dy,
             sum_dyx, StoreScaled{g, ldg});
}

template <bool kAdd>
HWY_INLINE void BatchNormInput(int64_t rows, int64_t channels, const float* x,
                               int64_t ldx, const float* mean,
                               const float* scale, const float* k1,
                               const float* k2, const float* dy, int64_t lddy,
                               float* dx, int64_t lddx) {
  const int64_t lanes = FloatLanes();
  constexpr int64_t kRows = 4;
  for (int64_t r = 0; r < rows; r += kRows) {
    const int64_t count = std::min(kRows, rows - r);
    for (int64_t c = 0; c < channels; c += lanes) {
      const int64_t n = std::min(lanes, channels - c);
      const FloatVec m = LoadFirst(mean + c, n);
      const FloatVec s = LoadFirst(scale + c, n);
      const FloatVec a = LoadFirst(k1 + c, n);
      const FloatVec b = LoadFirst(k2 + c, n);
      for (int64_t i = r; i < r + count; ++i) {
        const FloatVec e = hn::Sub(LoadFirst(x + i * ldx + c, n), m);
        const FloatVec dyv = LoadFirst(dy + i * lddy + c, n);
        FloatVec out = hn::MulSub(s, dyv, hn::MulAdd(b, e, a));
        float* p = dx + i * lddx + c;
        if constexpr (kAdd) out = hn::Add(LoadFirst(p, n), out);
        StoreFirst(out, p, n);
      }
    }
  }
}

void BatchNormInputRowsImpl(int64_t rows, int64_t channels, const float* x,
                            int64_t ldx, const float* mean, const float* scale,
                            const float* k1, const float* k2, const float* dy,
                            int64_t lddy, float* dx, int64_t lddx) {
  BatchNormInput<false>(rows, channels, x, ldx, mean, scale, k1, k2, dy, lddy,
                        dx, lddx);
}

void BatchNormInputAddRowsImpl(int64_t rows, int64_t channels, const float* x,
                               int64_t ldx, const float* mean,
                               const float* scale, const float* k1,
                               const float* k2, const float* dy, int64_t lddy,
                               float* dx, int64_t lddx) {
  BatchNormInput<true>(rows, channels, x, ldx, mean, scale, k1, k2, dy, lddy,
                       dx, lddx);
}

void AddRowsImpl(int64_t rows, int64_t channels, const float* x, int64_t ldx,
                 float* y, int64_t ldy) {
  const int64_t lanes = FloatLanes();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < channels; c += lanes) {
      const int64_t n = std::min(lanes, channels - c);
      float* p = y + r * ldy + c;
      StoreFirst(hn::Add(LoadFirst(p, n), LoadFirst(x + r * ldx + c, n)), p, n);
    }
  }
}

void AddColumnSumsImpl(int64_t rows, int64_t channels, const float* x,
                       int64_t ldx, float* sum) {
  const int64_t lanes = FloatLanes();
  ForEachChannelGroup(channels, [&](auto group, int64_t c, int64_t n) {
    constexpr int kVecs = decltype(group)::value;
    FloatVec total[kVecs];
    for (int v = 0; v < kVecs; ++v) {
      total[v] = LoadFirst(sum + c + v * lanes, n);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int v = 0; v < kVecs; ++v) {
        total[v] = hn::Add(total[v], LoadFirst(x + r * ldx + c + v * lanes, n));
      }
    }
    for (int v = 0; v < kVecs; ++v) {
      StoreFirst(total[v], sum + c + v * lanes, n);
    }
  });
}

void AveragePoolRowImpl(int64_t width, int64_t channels, const float* x0,
                        const float* x1, int64_t ldx, float* y, int64_t ldy) {
  const int64_t lanes = FloatLanes();
  const FloatVec quarter = hn::Set(FloatTag(), 0.25f);
  for (int64_t q = 0; q < width; ++q) {
    const float* a = x0 + 2 * q * ldx;
    const float* b = x1 + 2 * q * ldx;
    for (int64_t c = 0; c < channels; c += lanes) {
      const int64_t n = std::min(lanes, channels - c);
      const FloatVec upper =
          hn::Add(LoadFirst(a + c, n), LoadFirst(a + ldx + c, n));
      const FloatVec lower =
          hn::Add(LoadFirst(b + c, n), LoadFirst(b + ldx + c, n));
      StoreFirst(hn::Mul(quarter, hn::Add(upper, lower)), y + q * ldy + c, n);
    }
  }
}

}  // namespace densenet::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace densenet {

HWY_EXPORT(MomentsRowsImpl);
HWY_EXPORT(MaskedSumsRowsImpl);
HWY_EXPORT(MaskedAccumulateRowsImpl);
HWY_EXPORT(MaskedScaleRowsImpl);
HWY_EXPORT(BatchNormInputRowsImpl);
HWY_EXPORT(BatchNormInputAddRowsImpl);
HWY_EXPORT(AddRowsImpl);
HWY_EXPORT(AddColumnSumsImpl);
HWY_EXPORT(AveragePoolRowImpl);

void MomentsRows(int64_t rows, int64_t channels, const float* x, int64_t ldx,
                 float* mean, float* m2) {
  HWY_DYNAMIC_DISPATCH(MomentsRowsImpl)(rows, channels, x, ldx, mean, m2);
}

void MaskedSumsRows(int64_t rows, int64_t channels, const float* x, int64_t ldx,
                    const float* scale, const float* shift, const float* mean,
                    const float* dz, int64_t lddz, float* dy, int64_t lddy,
                    float* sum_dy, float* sum_dyx) {
  HWY_DYNAMIC_DISPATCH(MaskedSumsRowsImpl)
  (rows, channels, x, ldx, scale, shift, mean, dz, lddz, dy, lddy, sum_dy,
   sum_dyx);
}

void MaskedAccumulateRows(int64_t rows, int64_t channels, const float* x,
                          int64_t ldx, const float* scale, const float* shift,
                          const float* mean, const float* dz, int64_t lddz,
                          float* g, int64_t ldg, float* sum_dy,
                          float* sum_dyx) {
  HWY_DYNAMIC_DISPATCH(MaskedAccumulateRowsImpl)
  (rows, channels, x, ldx, scale, shift, mean, dz, lddz, g, ldg, sum_dy,
   sum_dyx);
}

void MaskedScaleRows(int64_t rows, int64_t channels, const float* x,
                     int64_t ldx, const float* scale, const float* shift,
                     const float* mean, const float* dz, int64_t lddz, float* g,
                     int64_t ldg, float* sum_dy, float* sum_dyx) {
  HWY_DYNAMIC_DISPATCH(MaskedScaleRowsImpl)
  (rows, channels, x, ldx, scale, shift, mean, dz, lddz, g, ldg, sum_dy,
   sum_dyx);
}

void BatchNormInputRows(int64_t rows, int64_t channels, const float* x,
                        int64_t ldx, const float* mean, const float* scale,
                        const float* k1, const float* k2, const float* dy,
                        int64_t lddy, float* dx, int64_t lddx) {
  HWY_DYNAMIC_DISPATCH(BatchNormInputRowsImpl)
  (rows, channels, x, ldx, mean, scale, k1, k2, dy, lddy, dx, lddx);
}

void BatchNormInputAddRows(int64_t rows, int64_t channels, const float* x,
                           int64_t ldx, const float* mean, const float* scale,
                           const float* k1, const float* k2, const float* dy,
                           int64_t lddy, float* dx, int64_t lddx) {
  HWY_DYNAMIC_DISPATCH(BatchNormInputAddRowsImpl)
  (rows, channels, x, ldx, mean, scale, k1, k2, dy, lddy, dx, lddx);
}

void AddRows(int64_t rows, int64_t channels, const float* x, int64_t ldx,
             float* y, int64_t ldy) {
  HWY_DYNAMIC_DISPATCH(AddRowsImpl)(rows, channels, x, ldx, y, ldy);
}

void CopyRows(int64_t rows, int64_t channels, const float* x, int64_t ldx,
              float* y, int64_t ldy) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(y + r * ldy, x + r * ldx, channels * sizeof(float));
  }
}

void AddColumnSums(int64_t rows, int64_t channels, const float* x, int64_t ldx,
                   float* sum) {
  HWY_DYNAMIC_DISPATCH(AddColumnSumsImpl)(rows, channels, x, ldx, sum);
}

void AveragePoolRow(int64_t width, int64_t channels, const float* x0,
                    const float* x1, int64_t ldx, float* y, int64_t ldy) {
  HWY_DYNAMIC_DISPATCH(AveragePoolRowImpl)
  (width, channels, x0, x1, ldx, y, ldy);
}

void DropoutRows(const RandomKey& key, double rate, int64_t first_element,
                 int64_t rows, int64_t channels, float* x, int64_t ldx) {
  const DropoutMask mask = DropoutMask::Of(rate);
  constexpr int64_t kDraws = 4;  // numbers of a Philox block
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x + r * ldx;
    const int64_t first = first_element + r * channels;
    int64_t c = 0;
    while (c < channels) {
      const int64_t element = first + c;
      const Philox4 block = RandomBlock(key, element / kDraws);
      for (int64_t i = element % kDraws; i < kDraws && c < channels; ++i, ++c) {
        row[c] = mask.Apply(row[c], block.v[i]);
      }
    }
  }
}

}  // namespace densenet
#endif  // HWY_ONCE
