#include "core/cpu/gemm_portable.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/cpu/gemm_portable.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "core/cpu/simd-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace densenet::HWY_NAMESPACE {

// Columns [j, j + lanes) of kRows rows from row i on.
template <int kRows>
HWY_INLINE void Tile(const GemmShape& s, const float* const* a,
                     const float* const* b, float* c, int64_t count, int64_t i,
                     int64_t j) {
  const FloatTag d;
  const int64_t lanes = std::min(FloatLanes(), s.n - j);
  FloatVec acc[kRows];
  for (int r = 0; r < kRows; ++r) {
    acc[r] =
        s.accumulate ? LoadFirst(c + (i + r) * s.ldc + j, lanes) : hn::Zero(d);
  }
  const int64_t row_step = s.transpose_a ? 1 : s.lda;
  const int64_t k_step = s.transpose_a ? s.lda : 1;
  for (int64_t t = 0; t < count; ++t) {
    const float* at = a[t] + i * row_step;
    for (int64_t k = 0; k < s.k; ++k) {
      const FloatVec bk = LoadFirst(b[t] + k * s.ldb + j, lanes);
      for (int r = 0; r < kRows; ++r) {
        const FloatVec ar = hn::Set(d, at[r * row_step + k * k_step]);
        acc[r] = hn::MulAdd(ar, bk, acc[r]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    StoreFirst(acc[r], c + (i + r) * s.ldc + j, lanes);
  }
}

void GemmPortableImpl(const GemmShape& s, const float* const* a,
                      const float* const* b, float* c, int64_t count) {
  constexpr int kRows = 8;
  for (int64_t j = 0; j < s.n; j += FloatLanes()) {
    int64_t i = 0;
    for (; i + kRows <= s.m; i += kRows) Tile<kRows>(s, a, b, c, count, i, j);
    for (; i < s.m; ++i) Tile<1>(s, a, b, c, count, i, j);
  }
}

}  // namespace densenet::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace densenet {

HWY_EXPORT(GemmPortableImpl);

void GemmPortable(const GemmShape& shape, const float* const* a,
                  const float* const* b, float* c, int64_t count) {
  HWY_DYNAMIC_DISPATCH(GemmPortableImpl)(shape, a, b, c, count);
}

}  // namespace densenet
#endif  // HWY_ONCE
