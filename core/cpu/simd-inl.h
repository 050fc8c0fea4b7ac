// core/cpu/simd-inl.h
//
// Helpers for Highway kernels: loads and stores of a vector's first n lanes
// that touch nothing beyond them, and a multiply-add that rounds once on every
// machine. Included once per target, inside foreach_target.h's loop, as
// Highway's own -inl.h headers are.

#if defined(DENSENET_CORE_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DENSENET_CORE_CPU_SIMD_INL_H_
#undef DENSENET_CORE_CPU_SIMD_INL_H_
#else
#define DENSENET_CORE_CPU_SIMD_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace densenet::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

inline int64_t FloatLanes() {
  return static_cast<int64_t>(hn::Lanes(FloatTag()));
}

// The lanes [0, n) of a vector at p, zeros behind; n >= 1.
HWY_INLINE FloatVec LoadFirst(const float* HWY_RESTRICT p, int64_t n) {
  const FloatTag d;
  if (n >= FloatLanes()) return hn::LoadU(d, p);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || \
    HWY_TARGET == HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
#endif
}

// Writes the lanes [0, n) to p; n >= 1.
HWY_INLINE void StoreFirst(FloatVec v, float* HWY_RESTRICT p, int64_t n) {
  const FloatTag d;
  if (n >= FloatLanes()) {
    hn::StoreU(v, d, p);
    return;
  }
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || \
    HWY_TARGET == HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, lanes);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
#endif
}

// x * s + t, rounded once: hn::MulAdd, or where an instruction set has no fused
// one (it would round twice) std::fma lane by lane.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V FusedMulAdd(D d, V x, V s, V t) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulAdd(x, s, t);
#else
  HWY_ALIGN float a[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float b[HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float c[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, d, a);
  hn::Store(s, d, b);
  hn::Store(t, d, c);
  for (size_t i = 0; i < hn::Lanes(d); ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return hn::Load(d, c);
#endif
}

}  // namespace densenet::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DENSENET_CORE_CPU_SIMD_INL_H_
