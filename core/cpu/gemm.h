// core/cpu/gemm.h
//
// Small matrix products on one thread, the building block of the CPU kernels:
// libxsmm's JIT kernels, or a portable loop where libxsmm has none.
//
// Shapes    all row-major with leading dimensions:
//           Gemm           c (m x n) = or += a (m x k) * b (k x n); with
//                          transpose_a, a is stored (k x m)
//           BatchGemm      c (m x n) = or += sum over i < count of
//                          a[i] (m x k) * b[i] (k x n)
// Types     float32
// Memory    none besides libxsmm's code cache, a few KiB a distinct shape
// Errors    none; CHECKs positive extents
// Numerics  each element is one chain of fused multiply-adds in a fixed order
//           (where libxsmm has a kernel: its order); independent of leading
//           dimensions and of the thread
// Threads   safe
//
// A value of these classes is a few words; making one looks its kernel up, and
// generates it the first time: make it before the loop over tiles.

#ifndef DENSENET_CORE_CPU_GEMM_H_
#define DENSENET_CORE_CPU_GEMM_H_

#include <cstdint>
#include <string>

namespace densenet {

struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t lda = 0;
  int64_t ldb = 0;
  int64_t ldc = 0;
  bool transpose_a = false;
  bool accumulate = false;
};

class Gemm {
 public:
  explicit Gemm(const GemmShape& shape);

  void operator()(const float* a, const float* b, float* c) const;
  bool is_jit() const { return kernel_ != nullptr; }

 private:
  using Kernel = void (*)();

  GemmShape shape_;
  Kernel kernel_ = nullptr;
};

class BatchGemm {
 public:
  static constexpr int64_t kMaxCount = 64;

  // CHECKs !transpose_a.
  explicit BatchGemm(const GemmShape& shape);

  // CHECKs count <= kMaxCount.
  void operator()(const float* const* a, const float* const* b, float* c,
                  int64_t count) const;
  bool is_jit() const { return kernel_ != nullptr; }

 private:
  using Kernel = void (*)();

  GemmShape shape_;
  Kernel kernel_ = nullptr;
};

// The instruction set that libxsmm generates for: "hsw" (AVX2), "clx"...
std::string GemmTarget();

}  // namespace densenet

#endif  // DENSENET_CORE_CPU_GEMM_H_
