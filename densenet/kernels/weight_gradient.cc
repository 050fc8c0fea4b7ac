#include "densenet/kernels/weight_gradient.h"

#include <algorithm>

#include "core/cpu/chunks.h"

namespace densenet {

void ReduceWeightGradient(const Context& ctx, const float* partials,
                          int64_t chunks, int64_t elems, float* dw) {
  constexpr int64_t kMinElems = 4096;  // of a task: 16 KB stay in L1
  constexpr int64_t kTasks = 64;
  ParallelForChunks(ctx.threads(), FixedChunks(elems, kMinElems, kTasks),
                    [&](const Chunk& range, int64_t, int) {
                      std::copy(partials + range.begin, partials + range.end,
                                dw + range.begin);
                      for (int64_t i = 1; i < chunks; ++i) {
                        const float* part = partials + i * elems;
                        for (int64_t e = range.begin; e < range.end; ++e)
                          dw[e] += part[e];
                      }
                    });
}

void TransposeWeights(int64_t c, int64_t k, const float* w, float* wt) {
  for (int64_t i = 0; i < c; ++i) {
    for (int64_t j = 0; j < k; ++j) wt[j * c + i] = w[i * k + j];
  }
}

}  // namespace densenet
