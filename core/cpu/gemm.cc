#include "core/cpu/gemm.h"

#include <glog/logging.h>
#include <libxsmm.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "core/cpu/gemm_portable.h"

namespace densenet {
namespace {

// libxsmm is column-major, so its A is our B, and its rows are our columns.
struct ColumnMajor {
  explicit ColumnMajor(const GemmShape& s)
      : m(s.n),
        n(s.m),
        k(s.k),
        lda(s.ldb),
        ldb(s.lda),
        ldc(s.ldc),
        beta(s.accumulate ? 1.0f : 0.0f),
        flags(s.transpose_a ? LIBXSMM_GEMM_FLAG_TRANS_B
                            : LIBXSMM_GEMM_FLAG_NONE) {}

  libxsmm_blasint m, n, k, lda, ldb, ldc;
  float alpha = 1.0f;
  float beta;
  int flags;
  int prefetch = LIBXSMM_PREFETCH_NONE;
};

// The best instruction set of this CPU that libxsmm has kernels for.
int BestTarget() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return LIBXSMM_X86_AVX512_CORE;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return LIBXSMM_X86_AVX2;
  }
  return LIBXSMM_X86_GENERIC;
}

// libxsmm 1.17 misjudges some CPUs (its issues 680, 681): what it found is
// held against what the CPU says, once. LIBXSMM_TARGET overrides both.
void SettleTarget() {
  [[maybe_unused]] static const bool settled = [] {
    if (std::getenv("LIBXSMM_TARGET") != nullptr) return true;
    const int best = BestTarget();
    const int found = libxsmm_get_target_archid();
    const bool beyond_cpu = found > best && best < LIBXSMM_X86_AVX512_CORE;
    if (found < best || beyond_cpu) libxsmm_set_target_archid(best);
    return true;
  }();
}

void CheckShape(const GemmShape& s) {
  SettleTarget();
  CHECK(s.m > 0 && s.n > 0 && s.k > 0)
      << "GEMM of " << s.m << " x " << s.n << " x " << s.k;
  constexpr int64_t kMax = std::numeric_limits<libxsmm_blasint>::max();
  CHECK(s.lda <= kMax && s.ldb <= kMax && s.ldc <= kMax);
}

}  // namespace

Gemm::Gemm(const GemmShape& shape) : shape_(shape) {
  CheckShape(shape);
  const ColumnMajor g(shape);
  kernel_ = reinterpret_cast<Kernel>(
      libxsmm_smmdispatch(g.m, g.n, g.k, &g.lda, &g.ldb, &g.ldc, &g.alpha,
                          &g.beta, &g.flags, &g.prefetch));
}

void Gemm::operator()(const float* a, const float* b, float* c) const {
  if (kernel_ != nullptr) {
    reinterpret_cast<libxsmm_smmfunction>(kernel_)(b, a, c);
  } else {
    GemmPortable(shape_, &a, &b, c, 1);
  }
}

BatchGemm::BatchGemm(const GemmShape& shape) : shape_(shape) {
  CheckShape(shape);
  CHECK(!shape.transpose_a);
  const ColumnMajor g(shape);
  kernel_ = reinterpret_cast<Kernel>(libxsmm_smmdispatch_reducebatch_addr(
      g.m, g.n, g.k, &g.lda, &g.ldb, &g.ldc, &g.alpha, &g.beta, &g.flags,
      &g.prefetch));
}

void BatchGemm::operator()(const float* const* a, const float* const* b,
                           float* c, int64_t count) const {
  CHECK_LE(count, kMaxCount);
  if (kernel_ != nullptr) {
    // The generated code advances the pointers in place.
    const float* a_copy[kMaxCount];
    const float* b_copy[kMaxCount];
    std::copy(a, a + count, a_copy);
    std::copy(b, b + count, b_copy);
    const unsigned long long n = count;  // NOLINT: libxsmm's type
    reinterpret_cast<libxsmm_smmfunction_reducebatch_addr>(kernel_)(
        b_copy, a_copy, c, &n);
  } else {
    GemmPortable(shape_, a, b, c, count);
  }
}

std::string GemmTarget() {
  SettleTarget();
  return libxsmm_get_target_arch();
}

}  // namespace densenet
