// Blocks of y are independent tasks; each sums its K blocks in order, so no
// result depends on the number of threads. A transposed b is first rewritten
// as op(b), since the block kernel reads its rows.

#include "core/ops/matmul_cpu.h"

#include <algorithm>

#include "core/cpu/chunks.h"
#include "core/cpu/gemm.h"
#include "core/cpu/rows.h"
#include "core/cpu/workspace.h"

namespace densenet {
namespace {

constexpr int64_t kBlockM = 64;
constexpr int64_t kBlockN = 64;
constexpr int64_t kBlockK = 256;
constexpr int64_t kTransposeTile = 16;

struct Matrix {
  const float* data;
  int64_t stride;
};

float* TakeTransposed(WorkspaceCutter& cutter, ConstTensorView b,
                      const MatMulParams& params) {
  return cutter.Take<float>(params.transpose_b ? b.elems() : 0);
}

// out (K, N) = the transpose of b (N, K), by tiles that stay in L1.
void Transpose(const Context& ctx, ConstTensorView b, float* out) {
  const int64_t n = b.dim(0);
  const int64_t k = b.dim(1);
  const int64_t stride = b.row_stride();
  const float* const in = b.data<float>();
  const int64_t tiles = (k + kTransposeTile - 1) / kTransposeTile;
  const FixedChunks chunks(tiles, RowsPerTask(n * kTransposeTile), kMaxTasks);
  ParallelForChunks(
      ctx.threads(), chunks, [&](const Chunk& chunk, int64_t, int) {
        const int64_t k_begin = chunk.begin * kTransposeTile;
        const int64_t k_end = std::min(k, chunk.end * kTransposeTile);
        for (int64_t kk = k_begin; kk < k_end; kk += kTransposeTile) {
          const int64_t k_tile = std::min(kTransposeTile, k_end - kk);
          for (int64_t row = 0; row < n; ++row) {
            for (int64_t i = 0; i < k_tile; ++i) {
              out[(kk + i) * n + row] = in[row * stride + kk + i];
            }
          }
        }
      });
}

// y (m, n) at row i, column j of the whole product.
class BlockProduct {
 public:
  BlockProduct(Matrix a, bool transpose_a, Matrix b, int64_t k, bool accumulate,
               float* y, int64_t y_stride)
      : a_(a),
        transpose_a_(transpose_a),
        b_(b),
        k_(k),
        accumulate_(accumulate),
        y_(y),
        y_stride_(y_stride) {}

  void operator()(int64_t i, int64_t m, int64_t j, int64_t n) const {
    float* const out = y_ + i * y_stride_ + j;
    for (int64_t k = 0; k < k_; k += kBlockK) {
      const int64_t depth = std::min(kBlockK, k_ - k);
      // Looked up in libxsmm's table: little beside a block's arithmetic.
      const Gemm gemm({m, n, depth, a_.stride, b_.stride, y_stride_,
                       transpose_a_, accumulate_ || k > 0});
      gemm(a_.data + (transpose_a_ ? k * a_.stride + i : i * a_.stride + k),
           b_.data + k * b_.stride + j, out);
    }
  }

 private:
  Matrix a_;
  bool transpose_a_;
  Matrix b_;
  int64_t k_;
  bool accumulate_;
  float* y_;
  int64_t y_stride_;
};

}  // namespace

int64_t MatMulWorkspaceBytesCpu(ConstTensorView b, const MatMulParams& params) {
  WorkspaceCutter cutter;
  TakeTransposed(cutter, b, params);
  return cutter.used_bytes();
}

void MatMulCpu(const Context& ctx, ConstTensorView a, ConstTensorView b,
               const MatMulParams& params, TensorView y,
               absl::Span<char> workspace) {
  Matrix right{b.data<float>(), b.row_stride()};
  if (params.transpose_b) {
    WorkspaceCutter cutter(workspace);
    float* const transposed = TakeTransposed(cutter, b, params);
    Transpose(ctx, b, transposed);
    right = {transposed, b.dim(0)};
  }
  const int64_t m = y.dim(0);
  const int64_t n = y.dim(1);
  const BlockProduct product(
      {a.data<float>(), a.row_stride()}, params.transpose_a, right,
      a.dim(params.transpose_a ? 0 : 1), params.accumulate, y.data<float>(),
      y.row_stride());
  const int64_t m_blocks = (m + kBlockM - 1) / kBlockM;
  const int64_t n_blocks = (n + kBlockN - 1) / kBlockN;
  // Blocks of one row band of a follow each other.
  ctx.threads().ParallelFor(m_blocks * n_blocks, [&](int64_t item, int) {
    const int64_t i = item / n_blocks * kBlockM;
    const int64_t j = item % n_blocks * kBlockN;
    product(i, std::min(kBlockM, m - i), j, std::min(kBlockN, n - j));
  });
}

}  // namespace densenet
